//go:build libseccomp

// Compile is the generator of the programs that package seccomp embeds. It needs cgo and libseccomp 2.5 or newer.
//
// A filter that allows 300 calls one by one is three to four times as long as one that refuses the other 80, and
// takes twice as long to install. So the program refuses in front what has no call, then asks libseccomp for a tree
// over what the profile refuses, and allows the rest, which is the same decision. That it is the same is not taken on
// trust: the tests evaluate the profile and the program side by side.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"

	"github.com/soulacy/toolcell/seccomp"
	"github.com/soulacy/toolcell/seccomp/internal/table"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("o", ".", "directory to write the programs to")
	flag.Parse()
	if err := generate(*dir); err != nil {
		log.Fatal(err)
	}
}

func generate(dir string) error {
	for _, goarch := range table.Names() {
		for _, o := range []seccomp.Options{{}, {Inotify: true}} {
			program, err := compile(goarch, o)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, seccomp.File(goarch, o)), program, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
