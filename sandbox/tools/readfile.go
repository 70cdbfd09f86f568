package tools

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/soulacy/toolcell/sandbox"
)

// The bounds of read_file and list_files.
const (
	// DefaultReadBytes and MaxReadBytes bound how much of a file one call returns.
	DefaultReadBytes = 256 << 10
	MaxReadBytes     = 1 << 20
	// MaxListed is how many names one call returns.
	MaxListed = 1000
)

// ReadArgs are the arguments of read_file.
type ReadArgs struct {
	// Path is what to read; see [WriteArgs].
	Path string
	// Offset is the byte to begin at.
	Offset int64
	// Limit is how many bytes to return at most. 0 means DefaultReadBytes, more than MaxReadBytes means that.
	Limit int64
	// Isolation is ""; IsolationSandbox is refused, since no program runs.
	Isolation string
}

// FileContent is a part of a file.
type FileContent struct {
	// Path is the path of the call.
	Path string `json:"path"`
	// Content is the part. It ends between two runes.
	Content string `json:"content"`
	// Base64 says that the part is no UTF-8 and that Content is its encoding.
	Base64 bool `json:"base64"`
	// Size is the size of the whole file.
	Size int64 `json:"size"`
	// NextOffset is where the next part begins; 0 when there is none.
	NextOffset int64 `json:"next_offset"`
}

// Text is the result as a model reads it.
func (c FileContent) Text() string {
	s := c.Content
	if c.Base64 {
		s = "[base64, since the file is no UTF-8]\n" + s
	}
	if c.NextOffset == 0 {
		return s
	}
	return s + "\n" + truncatedMark + " (go on with offset " + strconv.FormatInt(c.NextOffset, 10) + " of " + strconv.FormatInt(c.Size, 10) + ")"
}

// ReadFile reads a part of a regular file below the roots.
func (t Tools) ReadFile(ctx context.Context, a ReadArgs) (FileContent, error) {
	if a.Offset < 0 || a.Limit < 0 {
		return FileContent{}, sandbox.Invalid(string(NameReadFile), "offset and limit must not be negative")
	}
	if _, err := t.enter(ctx, Request{Tool: NameReadFile, Isolation: a.Isolation}); err != nil {
		return FileContent{}, err
	}
	s, err := t.locate(NameReadFile, a.Path)
	if err != nil {
		return FileContent{}, err
	}
	defer s.Close()
	if err := s.checkFile(NameReadFile); err != nil {
		return FileContent{}, err
	}
	f, info, err := openRegular(s.Root, s.name)
	if errors.Is(err, errNotRegular) {
		return FileContent{}, s.invalid(NameReadFile, err.Error())
	}
	if err != nil {
		return FileContent{}, s.fault(NameReadFile, err)
	}
	defer f.Close()
	if err := s.checkProtected(NameReadFile, info); err != nil {
		return FileContent{}, err
	}
	limit := min(cmp.Or(a.Limit, DefaultReadBytes), MaxReadBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, a.Offset, limit))
	if err != nil {
		return FileContent{}, s.failed(NameReadFile, err)
	}
	return content(a, data, info.Size()), nil
}

func content(a ReadArgs, data []byte, size int64) FileContent {
	c := FileContent{Path: a.Path, Size: size}
	more := a.Offset+int64(len(data)) < size
	if whole := wholeRunes(data); more && len(whole) > 0 && utf8.Valid(whole) {
		data = whole
	}
	if more && len(data) > 0 {
		c.NextOffset = a.Offset + int64(len(data))
	}
	c.Content, c.Base64 = string(data), !utf8.Valid(data)
	if c.Base64 {
		c.Content = base64.StdEncoding.EncodeToString(data)
	}
	return c
}

// ListArgs are the arguments of list_files.
type ListArgs struct {
	// Path is the directory; see [WriteArgs]. "" is the first root.
	Path string
	// Recursive also lists what is below.
	Recursive bool
	// Isolation is ""; IsolationSandbox is refused, since no program runs.
	Isolation string
}

// FileEntry is one name.
type FileEntry struct {
	// Name is the path below the listed directory, with slashes.
	Name string `json:"name"`
	// Type is "file", "dir", "symlink" or "other".
	Type string `json:"type"`
	// Size is the size in bytes of a file, and 0 for all else.
	Size int64 `json:"size"`
}

// Listing is what a directory holds.
type Listing struct {
	// Path is the path of the call.
	Path string `json:"path"`
	// Entries are the names, sorted.
	Entries []FileEntry `json:"entries"`
	// Truncated says that there are more than MaxListed, or directories too deep to go into.
	Truncated bool `json:"truncated"`
}

// Text is the result as a model reads it: one name a line, directories with a slash.
func (l Listing) Text() string {
	var b strings.Builder
	for _, e := range l.Entries {
		b.WriteString(plainName(e.Name))
		switch e.Type {
		case "dir":
			b.WriteByte('/')
		case "file":
			b.WriteString(" (" + strconv.FormatInt(e.Size, 10) + " bytes)")
		default:
			b.WriteString(" (" + e.Type + ")")
		}
		b.WriteByte('\n')
	}
	if len(l.Entries) == 0 {
		b.WriteString("(empty)\n")
	}
	if l.Truncated {
		b.WriteString(truncatedMark + "\n")
	}
	return b.String()
}

// ListFiles lists a directory below the roots. Links are listed and not followed.
func (t Tools) ListFiles(ctx context.Context, a ListArgs) (Listing, error) {
	a.Path = cmp.Or(a.Path, ".")
	if _, err := t.enter(ctx, Request{Tool: NameListFiles, Isolation: a.Isolation}); err != nil {
		return Listing{}, err
	}
	s, err := t.locate(NameListFiles, a.Path)
	if err != nil {
		return Listing{}, err
	}
	defer s.Close()
	dir, err := openDir(s.Root, s.name)
	if err != nil {
		return Listing{}, s.fault(NameListFiles, err)
	}
	defer dir.Close()
	l := Listing{Path: a.Path, Entries: []FileEntry{}}
	err = walker{most: maxWalk, depth: maxDepth, visit: func(name string, d fs.DirEntry, err error) error {
		return l.visit(a.Recursive, name, d, err)
	}}.walk(dir, ".", nil)
	if err != nil && !errors.Is(err, errEnough) {
		return Listing{}, s.fault(NameListFiles, err)
	}
	slices.SortFunc(l.Entries, func(a, b FileEntry) int { return strings.Compare(a.Name, b.Name) })
	return l, nil
}

func (l *Listing) visit(recursive bool, name string, d fs.DirEntry, err error) error {
	switch {
	case name == ".":
		return err
	case errors.Is(err, errTooDeep):
		l.Truncated = true
		return nil
	case err != nil:
		return nil // a directory that cannot be read is listed, and what is in it is not
	case len(l.Entries) == MaxListed:
		l.Truncated = true
		return errEnough
	}
	l.Entries = append(l.Entries, entry(name, d))
	if d.IsDir() && !recursive {
		return filepath.SkipDir
	}
	return nil
}

func entry(name string, d fs.DirEntry) FileEntry {
	e := FileEntry{Name: name, Type: "other"}
	switch d.Type() {
	case 0:
		e.Type = "file"
		if info, err := d.Info(); err == nil { // it may be gone meanwhile
			e.Size = info.Size()
		}
	case fs.ModeDir:
		e.Type = "dir"
	case fs.ModeSymlink:
		e.Type = "symlink"
	}
	return e
}
