package main

import (
	"fmt"
	"io"
)

// readBounded reads to the end, which must come within max bytes.
func readBounded(r io.Reader, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(data)) > max {
		err = fmt.Errorf("it is larger than %d bytes", max)
	}
	return data, err
}
