package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

func (a *app) imagesCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "images COMMAND",
		Short:                 "See to it that images are there before a call needs them",
		Long:                  "A call never fetches anything. What it will need is fetched before, by this command.",
		Example:               "  toolcell images pull --backend docker python:3.12-slim",
		Annotations:           exitTable(plainExit),
		DisableFlagsInUseLine: true,
		Args:                  noArgs,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.pullCmd())
	return cmd
}

func (a *app) pullCmd() *cobra.Command {
	var inv dockerargs.Invocation
	cmd := &cobra.Command{
		Use:   "pull [flags] IMAGE...",
		Short: "Fetch images that the backend does not have",
		Long: "pull has the backend prepare each image: an engine fetches it from its registry, with what the engine says of it on\n" +
			"stderr; the native backend, which fetches nothing, looks whether it knows the name and can use what it stands for.",
		Example:     "  toolcell images pull --backend docker python:3.12-slim node:22-alpine",
		Annotations: exitTable(plainExit),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misused(cmd, errors.New("no image is named"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.finish(cmd.Context(), a.pull(cmd.Context(), inv, args), inv.JSON)
		},
	}
	cmd.Flags().StringVar(&inv.Backend, "backend", "", "the backend that will run the calls (default: the configuration's)")
	cmd.Flags().Var((*fileName)(&inv.Config), "config", "the operator's file with images and waivers")
	cmd.Flags().BoolVar(&inv.JSON, "json", false, "print the backend and the images that are ready as JSON")
	return cmd
}

// pulled is what pull says as JSON, when all could be prepared.
type pulled struct {
	Backend string   `json:"backend"`
	Images  []string `json:"images"`
}

// pull prepares every image and fails with all that could not be.
func (a *app) pull(ctx context.Context, inv dockerargs.Invocation, images []string) (err error) {
	a.progress = a.stderr
	cl, err := a.prepare(ctx, inv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cl.backend.Close()) }()
	var failed error
	for _, image := range images {
		profile := cl.profile
		profile.Image = image
		if err := cl.backend.Prepare(ctx, profile); err != nil {
			failed = also(failed, err)
			continue
		}
		if !inv.JSON {
			fmt.Fprintf(a.stdout, "%s is ready for the %s backend\n", escapeText(image), cl.backend.Name())
		}
	}
	if inv.JSON && failed == nil {
		return a.writeJSON(pulled{cl.backend.Name(), images})
	}
	return failed
}

// also adds an error to the one before, on the same line.
func also(before, err error) error {
	if before == nil {
		return err
	}
	return fmt.Errorf("%w; %w", before, err)
}
