package arch_test

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	maxFile     = 400
	maxFunction = 80
	maxParams   = 5
)

// A file has one subject, and a function fits on a screen or two.
func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTst || ast.IsGenerated(s.ast) {
			continue
		}
		assert.LessOrEqual(t, strings.Count(s.text, "\n"), maxFile, "%s: lines of the file", s.path)
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
				assert.LessOrEqual(t, lines, maxFunction, "%s: lines of %s", s.path, f.Name.Name)
				assert.LessOrEqual(t, f.Type.Params.NumFields(), maxParams, "%s: parameters of %s", s.path, f.Name.Name)
			}
		}
	}
}

// Only the two main packages may hold on to the main thread before main; nothing else happens at start-up.
func TestNoInit(t *testing.T) {
	allowed := map[string]bool{"cmd/toolcell/main.go": true, "cmd/toolcell-init/main.go": true}
	seen := 0
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Name.Name != "init" {
				continue
			}
			seen++
			assert.True(t, allowed[s.path], "%s has an init()", s.path)
		}
	}
	assert.Equal(t, len(allowed), seen, "the rule finds the two that there are")
}

// Work that was put off is an issue, not a comment.
func TestNothingIsPutOff(t *testing.T) {
	marker := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for _, s := range sources(t) {
		for _, group := range s.ast.Comments {
			assert.NotRegexp(t, marker, group.Text(), s.path)
		}
	}
}

// Every package says in one place what it is.
func TestPackageDocs(t *testing.T) {
	docs := map[string][]string{}
	packages := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTst || strings.Contains(s.text, "\n//go:build ignore\n") || strings.HasPrefix(s.text, "//go:build ignore\n") {
			continue
		}
		dir := path.Dir(s.path)
		packages[dir] = true
		if s.ast.Doc == nil {
			continue
		}
		docs[dir] = append(docs[dir], s.path)
		if s.ast.Name.Name != "main" { // a program's doc begins with its own name
			want := "Package " + s.ast.Name.Name + " "
			assert.True(t, strings.HasPrefix(s.ast.Doc.Text(), want), "%s: the package doc begins with %q", s.path, want)
		}
	}
	for dir := range packages {
		assert.NotEmpty(t, docs[dir], "%s has no package doc", dir)
		assert.LessOrEqual(t, len(docs[dir]), 1, "%s has package docs in %v", dir, docs[dir])
	}
}

// Every exported name says what it is.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTst {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					assert.NotNil(t, d.Doc, "%s: %s has no comment", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				checkSpecs(t, s, d)
			}
		}
	}
}

func checkSpecs(t *testing.T, s source, d *ast.GenDecl) {
	t.Helper()
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				assert.True(t, d.Doc != nil || spec.Doc != nil, "%s: %s has no comment", s.path, spec.Name.Name)
			}
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				if n.IsExported() {
					assert.True(t, d.Doc != nil || spec.Doc != nil || spec.Comment != nil, "%s: %s has no comment", s.path, n.Name)
				}
			}
		}
	}
}

// exportedReceiver reports whether f is a function or a method of an exported type.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}
