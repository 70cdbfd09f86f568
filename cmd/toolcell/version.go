package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// version is what the build recorded of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// versionInfo has the fields that callers of `docker version --format` read. Server is what would run the calls.
type versionInfo struct {
	Client versionOf
	Server versionOf
}

type versionOf struct {
	Version   string
	GoVersion string
	Os        string
	Arch      string
}

// engineInfo has the fields that callers of `docker info --format` read.
type engineInfo struct {
	Name            string
	ServerVersion   string
	DefaultRuntime  string
	Runtimes        map[string]runtimeInfo
	OSType          string
	Architecture    string
	SecurityOptions []string
}

type runtimeInfo struct {
	Path string `json:"path"`
}

func (a *app) versionCmd() *cobra.Command {
	return a.probeCmd("version", "Show the version, if calls can be run here",
		"  toolcell version\n  toolcell version --format '{{.Server.Version}}'",
		func(sandbox.Backend, sandbox.Report) any {
			v := versionOf{version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			return versionInfo{v, v}
		}, "toolcell {{.Client.Version}} ({{.Client.GoVersion}}, {{.Client.Os}}/{{.Client.Arch}})")
}

func (a *app) infoCmd() *cobra.Command {
	return a.probeCmd("info", "Show what runs the calls, if they can be run here",
		"  toolcell info\n  toolcell info --format '{{json .Runtimes}}'", engineInfoOf,
		"backend: {{.Name}}\nversion: {{.ServerVersion}}\nenforced: {{range $i, $g := .SecurityOptions}}{{if $i}}, {{end}}{{$g}}{{end}}")
}

// engineInfoOf describes a backend by what its report says it enforces.
func engineInfoOf(b sandbox.Backend, r sandbox.Report) any {
	info := engineInfo{
		Name: b.Name(), ServerVersion: version(), DefaultRuntime: dockerargs.NativeRuntime,
		OSType: runtime.GOOS, Architecture: runtime.GOARCH,
	}
	self, err := os.Executable()
	if err != nil {
		self = "" // the runtime's path is for show
	}
	info.Runtimes = map[string]runtimeInfo{dockerargs.NativeRuntime: {Path: self}}
	for _, e := range r {
		if e.Enforced {
			info.SecurityOptions = append(info.SecurityOptions, string(e.Guarantee))
		}
	}
	return info
}

// probeCmd is a command by which gateways find out whether calls can be run: it succeeds only when the backend can
// enforce the hardened profile.
func (a *app) probeCmd(use, short, example string, data func(sandbox.Backend, sandbox.Report) any, text string) *cobra.Command {
	var format, backend, cfg string
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Long:        short + ".\nIt fails when the backend cannot enforce the hardened profile, since callers use it to find that out.",
		Annotations: exitTable(probeExit),
		Args: func(cmd *cobra.Command, args []string) error {
			if asJSON && format != "" {
				return misused(cmd, errors.New("--json and --format exclude each other"))
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				format = "json"
			}
			inv := dockerargs.Invocation{Backend: backend, Config: cfg}
			return a.finish(cmd.Context(), a.probe(cmd.Context(), inv, func(b sandbox.Backend, r sandbox.Report) error {
				return a.format(cmp.Or(format, text), data(b, r))
			}), asJSON)
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "", "a Go template, or json")
	cmd.Flags().StringVar(&backend, "backend", "", "the backend to ask (default: the configuration's)")
	cmd.Flags().Var((*fileName)(&cfg), "config", "the operator's file with images and waivers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as --format json does, and an error as JSON too")
	return cmd
}

// probe calls show only if a call with the default profile would not be refused.
func (a *app) probe(ctx context.Context, inv dockerargs.Invocation, show func(sandbox.Backend, sandbox.Report) error) (err error) {
	cl, err := a.prepare(ctx, inv)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := cl.backend.Close(); err == nil {
			err = cerr
		}
	}()
	report, err := cl.backend.Ready(ctx, cl.profile)
	if err != nil {
		return err
	}
	return show(cl.backend, report)
}

// format writes data by a template with docker's json function.
func (a *app) format(text string, data any) error {
	if text == "json" {
		text = "{{json .}}"
	}
	t, err := template.New("format").Funcs(template.FuncMap{"json": toJSON}).Parse(text)
	if err != nil {
		return sandbox.Invalid("--format", "%w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return sandbox.Invalid("--format", "%w", err)
	}
	_, err = fmt.Fprintln(a.stdout, b.String())
	return err
}

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
