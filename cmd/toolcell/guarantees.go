package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox"
)

func (a *app) guaranteesCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:         "guarantees",
		Short:       "List the guarantees and what each means",
		Example:     "  toolcell guarantees",
		Annotations: exitTable(plainExit),
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.finish(cmd.Context(), a.listGuarantees(asJSON), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list of name and meaning")
	return cmd
}

func (a *app) listGuarantees(asJSON bool) error {
	type row struct {
		Name    sandbox.Guarantee `json:"name"`
		Meaning string            `json:"meaning"`
	}
	var rows []row
	for _, g := range sandbox.Guarantees() {
		rows = append(rows, row{g, g.Meaning()})
	}
	if asJSON {
		return a.writeJSON(rows)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(a.stdout, "%-24s %s\n", r.Name, r.Meaning); err != nil {
			return err
		}
	}
	return nil
}
