package forked

// noSuchCall is a number that every kernel answers with ENOSYS.
const noSuchCall = ^uintptr(0) >> 1

// number is the number of a plan's call on this architecture. No call of a plan has number 0.
//
//go:nosplit
//go:norace
func number(c uint8) uintptr {
	if int(c) >= len(numbers) || numbers[c] == 0 {
		return noSuchCall
	}
	return uintptr(numbers[c])
}
