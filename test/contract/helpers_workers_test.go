package contract

// recovered returns the value with which do panics.
func recovered(do func()) (fault any) {
	defer func() { fault = recover() }()
	do()
	return nil
}
