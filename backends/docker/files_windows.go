package docker

import (
	"errors"
	"io/fs"
)

func checkProgram(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	return nil
}
