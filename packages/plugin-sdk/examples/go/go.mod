module voucher

go 1.21
