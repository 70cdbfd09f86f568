// Command gateway is a miniature gateway: gateway CONFIG SOUL.yaml. It reads one agent's calls from its standard input, a
// line of JSON each, runs every one where the configuration says, and answers with a line. Its input is trusted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"log/slog"
	"os"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/sandbox/tools/netguard"
)

func main() {
	spawner.Main() // none of the three returns where this program was started as its own helper
	helper.Main()
	host.Main()
	if len(os.Args) != 3 {
		log.Fatal("usage: gateway CONFIG SOUL.yaml")
	} else if err := serve(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, configFile, soulFile string) error {
	c, err := config.Load(config.Options{File: configFile})
	agent, agentErr := config.LoadAgent(soulFile)
	if err := errors.Join(err, agentErr); err != nil {
		return err
	}
	o := backends.Options{Agents: []config.Agent{agent}, Logger: slog.Default(), Download: netguard.Guard{}, Prepare: true}
	runner, err := backends.Open(ctx, c, o) // tells the logger where every call will run, and why
	if err != nil {
		return err
	}
	for calls, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout); err == nil && calls.More(); {
		var call struct {
			Tool      tools.Name
			Arguments json.RawMessage
		}
		reply := tools.Reply{Text: "Error: this agent has no such tool", Err: errors.ErrUnsupported}
		if err = calls.Decode(&call); err == nil && policy.Offered(c, policy.Path(call.Tool), agent.ID) {
			reply = runner.Tools(agent).Call(ctx, call.Tool, call.Arguments, tools.Streams{})
		}
		if err == nil {
			err = answers.Encode(map[string]any{"text": reply.Text, "error": reply.IsError(), "result": reply.Structured})
		}
	}
	return errors.Join(err, runner.Close())
}
