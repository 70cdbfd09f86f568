package server

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/soulacy/toolcell/sandbox/tools"
)

// artifactLimits bounds the files of a result, all of which a model may get to read. What is left out the text names.
func artifactLimits() tools.ArtifactLimits {
	return tools.ArtifactLimits{Files: 16, FileBytes: 2 << 20, TotalBytes: 4 << 20}
}

// contents are what a client shows: the text, images as images, other files as resources with their content.
func contents(reply tools.Reply) []mcp.Content {
	out := []mcp.Content{&mcp.TextContent{Text: strings.ToValidUTF8(reply.Text, "\uFFFD")}}
	for _, a := range reply.Artifacts {
		out = append(out, artifact(a))
	}
	return out
}

func artifact(a tools.Artifact) mcp.Content {
	if a.Image() {
		return &mcp.ImageContent{Data: a.Data, MIMEType: a.Type, Meta: mcp.Meta{"name": strings.ToValidUTF8(a.Name, "\uFFFD")}}
	}
	r := &mcp.ResourceContents{URI: artifactURI(a.Name), MIMEType: a.Type}
	if utf8.Valid(a.Data) && len(a.Data) > 0 && !strings.HasPrefix(a.Type, "application/octet-stream") {
		r.Text = string(a.Data)
	} else {
		r.Blob = append([]byte{}, a.Data...)
	}
	return &mcp.EmbeddedResource{Resource: r}
}

// artifactURI names a file by where the code saw it. There is nothing to fetch: the content is in the result.
func artifactURI(name string) string {
	return (&url.URL{Scheme: "toolcell", Host: "output", Path: "/" + name}).String()
}
