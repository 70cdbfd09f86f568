// Expand writes profile.json, which engines read, from policy.json, which people write: see [policy.Profile.Expand].
package main

import (
	"log"
	"os"

	"github.com/soulacy/toolcell/seccomp/internal/policy"
)

func main() {
	log.SetFlags(0)
	if err := expand("policy.json", "profile.json"); err != nil {
		log.Fatal(err)
	}
}

func expand(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	p, err := policy.Parse(data)
	if err != nil {
		return err
	}
	if err := p.Expand(); err != nil {
		return err
	}
	if data, err = p.Encode(); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
