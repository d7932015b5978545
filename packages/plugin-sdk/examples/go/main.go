// An svc engine in Go: makes voucher numbers with a check digit, and checks them.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"regexp"
)

var description = map[string]any{
	"name":         "voucher",
	"version":      "0.1.0",
	"display_name": "Vouchers",
	"description":  "Makes voucher numbers with a check digit, and checks them",
	"capabilities": []string{"secret_generation", "secret_validation"},
}

type object = map[string]json.RawMessage

var methods = map[string]func(params object) (any, error){
	"describe": func(object) (any, error) { return description, nil },
	"ping":     func(object) (any, error) { return map[string]string{"status": "healthy"}, nil },
	"generate": generate,
	"validate": validate,
}

var (
	prefixShape  = regexp.MustCompile(`^[A-Z]{1,10}$`)
	voucherShape = regexp.MustCompile(`^[A-Z]{1,10}-([0-9]{15})([0-9])$`)
)

func generate(params object) (any, error) {
	prefix, err := text(params, "prefix")
	if err != nil {
		return nil, err
	}
	if prefix == nil {
		prefix = new(string)
		*prefix = "V"
	}
	if !prefixShape.MatchString(*prefix) {
		return nil, errors.New("prefix must be 1 to 10 capital letters")
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(15), nil)
	number, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, errors.New("the system gives no random numbers: try again")
	}
	digits := fmt.Sprintf("%015d", number)
	return map[string]string{"voucher": *prefix + "-" + digits + checkDigit(digits)}, nil
}

func validate(params object) (any, error) {
	voucher, err := text(params, "voucher")
	if err != nil {
		return nil, err
	}
	if voucher == nil {
		return nil, errors.New("voucher is required")
	}
	parts := voucherShape.FindStringSubmatch(*voucher)
	if parts == nil || parts[2] != checkDigit(parts[1]) {
		return map[string]any{"valid": false, "message": "not a voucher of ours"}, nil
	}
	return map[string]any{"valid": true, "message": "the check digit is right"}, nil
}

// checkDigit returns the digit that makes a number end in 0 under the Luhn algorithm (ISO/IEC 7812-1 annex B).
func checkDigit(digits string) string {
	sum := 0
	for index := range digits {
		number := int(digits[len(digits)-1-index]-'0') * (2 - index%2)
		if number > 9 {
			number -= 9
		}
		sum += number
	}
	return fmt.Sprint((10 - sum%10) % 10)
}

// text reads a param; nil when it is absent. What was sent is never quoted in an error.
func text(params object, name string) (*string, error) {
	var value *string
	if raw, found := params[name]; found && json.Unmarshal(raw, &value) != nil {
		return nil, fmt.Errorf("invalid params: %s must be a string", name)
	}
	return value, nil
}

func respond(line []byte) (any, error) {
	var request, params object
	var method string
	if json.Unmarshal(line, &request) != nil || request == nil {
		return nil, errors.New("invalid params: the request is not a JSON object")
	}
	if raw, found := request["params"]; found && (json.Unmarshal(raw, &params) != nil || params == nil) {
		return nil, errors.New("invalid params: params must be an object")
	}
	if json.Unmarshal(request["method"], &method) != nil || methods[method] == nil {
		return nil, errors.New("unknown method")
	}
	return methods[method](params)
}

// One request a line, one response a line; the end of the input ends the program.
func main() {
	requests, responses := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := requests.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		if err != nil {
			os.Exit(1)
		}
		response := map[string]any{}
		if data, err := respond(line); err != nil {
			response["error"] = err.Error()
		} else {
			response["data"] = data
		}
		if responses.Encode(response) != nil {
			os.Exit(1)
		}
	}
}
