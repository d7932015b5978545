// Kubepeer is a Kubernetes API server for tests: the real kube-apiserver with its etcd in one process, on the loopback interface only.
//
// Whoever starts it puts ca.crt, server.crt, server.key, sa.key, admin.token and tokens.csv into a folder. It prints "ready <url>" when it
// can be used, and ends on SIGTERM or when its standard input does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
)

const (
	pollInterval   = 50 * time.Millisecond
	resyncInterval = 5 * time.Minute
)

func main() {
	dir := flag.String("dir", ".", "the folder with the files; everything else is kept there too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()

	folder := peerFolder(must(filepath.Abs(*dir)))
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	store := startEtcd(folder)
	address := "https://" + listener.Addr().String()
	server := apiServerOptions(folder, store.Config().ListenClientUrls[0].String(), address)
	server.SecureServing.Listener = listener
	check(server.GenericServerRunOptions.ComponentGlobalsRegistry.Set())
	completed := must(server.Complete(ctx))
	check(errors.Join(completed.Validate()...))

	admin := &rest.Config{
		Host:            address,
		BearerToken:     string(must(os.ReadFile(folder.file("admin.token")))),
		QPS:             100,
		Burst:           200,
		TLSClientConfig: rest.TLSClientConfig{CAFile: folder.file("ca.crt")},
	}
	go func() {
		if complete(ctx, admin) {
			fmt.Println("ready", admin.Host)
		}
	}()
	err := app.Run(ctx, completed)
	store.Close()
	check(err)
}

// startEtcd starts a lone member that is reached through a socket in the folder. Nothing has to survive a power failure.
func startEtcd(folder peerFolder) *embed.Etcd {
	socket := func(name string) []url.URL { return []url.URL{{Scheme: "unix", Path: folder.file(name)}} }
	config := embed.NewConfig()
	config.Dir = folder.file("etcd")
	config.UnsafeNoFsync = true
	config.LogLevel = "error"
	config.LogOutputs = []string{folder.file("etcd.log")}
	config.ListenClientUrls = socket("etcd.sock")
	config.ListenPeerUrls = socket("peer.sock")
	store := must(embed.StartEtcd(config))
	<-store.Server.ReadyNotify()
	return store
}

// apiServerOptions is what the command line of kube-apiserver would be. The issuer of its service accounts' tokens is its own address, where it
// answers discovery.
func apiServerOptions(folder peerFolder, etcd, address string) *options.ServerRunOptions {
	server := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, group := range server.Flags().FlagSets {
		flags.AddFlagSet(group)
	}
	check(flags.Parse([]string{
		"--etcd-servers=" + etcd,
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--tls-cert-file=" + folder.file("server.crt"),
		"--tls-private-key-file=" + folder.file("server.key"),
		"--token-auth-file=" + folder.file("tokens.csv"),
		"--service-account-issuer=" + address,
		"--service-account-jwks-uri=" + address + "/openid/v1/jwks",
		"--service-account-key-file=" + folder.file("sa.key"),
		"--service-account-signing-key-file=" + folder.file("sa.key"),
	}))
	return server
}

// complete waits until the server answers, starts the controllers that the tests need, and waits until the cluster roles view, edit and
// admin have their rules: a controller fills them. It answers false when the process is to end before that. There is no garbage collector.
func complete(ctx context.Context, config *rest.Config) bool {
	client := must(kubernetes.NewForConfig(config))
	poll(ctx, func() bool { return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil })
	if ctx.Err() != nil {
		return false
	}

	shared := informers.NewSharedInformerFactory(client, 0)
	core := shared.Core().V1()
	roles := clusterroleaggregation.NewClusterRoleAggregation(shared.Rbac().V1().ClusterRoles(), client.RbacV1())
	namespaces := namespace.NewNamespaceController(ctx, client, must(metadata.NewForConfig(config)),
		client.Discovery().ServerPreferredNamespacedResources, core.Namespaces(), resyncInterval, corev1.FinalizerKubernetes)
	accounts := must(serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(),
		client, serviceaccount.DefaultServiceAccountsControllerOptions()))
	shared.Start(ctx.Done())
	go roles.Run(ctx, 1)
	go namespaces.Run(ctx, 1)
	go accounts.Run(ctx, 1)

	for _, name := range []string{"view", "edit", "admin"} {
		poll(ctx, func() bool {
			role, err := client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
			return err == nil && len(role.Rules) > 0
		})
	}
	return ctx.Err() == nil
}

// poll asks until the answer is yes or the process is to end.
func poll(ctx context.Context, isSo func() bool) {
	for ctx.Err() == nil && !isSo() {
		time.Sleep(pollInterval)
	}
}

// A peerFolder is where the peer's files are.
type peerFolder string

func (folder peerFolder) file(name string) string {
	return filepath.Join(string(folder), name)
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubepeer:", err)
		os.Exit(1)
	}
}
