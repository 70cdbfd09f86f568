package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// dir is where the disk with the programs is mounted, unless this program lies elsewhere.
const dir = "/toolcell"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	mode := "calls" // as the gateway of the unit file, which is started without arguments
	if len(args) > 0 {
		mode = args[0]
	}
	switch mode {
	case "agent":
		return agent()
	case "calls":
		return json.NewEncoder(os.Stdout).Encode(makeCalls(calls()))
	case "refused":
		return json.NewEncoder(os.Stdout).Encode(makeCalls(refusals()))
	case "waived":
		return json.NewEncoder(os.Stdout).Encode(makeCalls(append(refusals(), call{"a plain call with the limits waived", waived})))
	default:
		return fmt.Errorf("unknown mode %q", mode)
	}
}
