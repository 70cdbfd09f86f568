package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// elements parses a picture as XML and returns the attributes of each element of that name.
func elements(t *testing.T, svg, name string) []map[string]string {
	t.Helper()
	var out []map[string]string
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == name {
			attributes := map[string]string{}
			for _, a := range e.Attr {
				attributes[a.Name.Local] = a.Value
			}
			out = append(out, attributes)
		}
	}
}

func TestBars(t *testing.T) {
	svg := Bars{Title: "a < b & c", Unit: "ms", Bars: []Bar{
		{Label: "bare", Kind: Reference, Value: 1, Tail: 2}, {Label: "ours", Kind: Ours, Value: 10}, {Label: "theirs", Value: 100},
	}}.SVG()
	rects := elements(t, svg, "rect")
	require.Len(t, rects, 4, "a background and three bars")
	assert.Equal(t, []string{"ref", "ours", "peer"}, []string{rects[1]["class"], rects[2]["class"], rects[3]["class"]})
	assert.Equal(t, []string{"1", "230", "460"}, []string{rects[1]["width"], rects[2]["width"], rects[3]["width"]}, "ten times is as far as ten times")
	assert.Contains(t, svg, "a &lt; b &amp; c")
	assert.Contains(t, svg, "prefers-color-scheme:dark")
	whiskers := 0
	for _, l := range elements(t, svg, "line") {
		if strings.HasPrefix(l["class"], "whisker") {
			whiskers++
		}
	}
	assert.Equal(t, 1, whiskers, "a tail only where there is one")
}

func TestLines(t *testing.T) {
	svg := Lines{Title: "t", Places: []string{"1", "8", "64"}, Unit: "ms", Lines: []Line{
		{Label: "a", Kind: Ours, Values: []float64{1, 10, 100}},
		{Label: "b", Values: []float64{1.1, 10.1, 100.1}},
		{Label: "none", Values: []float64{0, 0, 0}},
	}}.SVG()
	assert.Len(t, elements(t, svg, "path"), 2, "what was not measured is not drawn")
	var labels []string
	for _, e := range elements(t, svg, "text") {
		if e["class"] == "ours" || e["class"] == "peer" {
			labels = append(labels, e["y"])
		}
	}
	require.Len(t, labels, 2)
	assert.NotEqual(t, labels[0], labels[1], "names do not cover each other")
}

// A picture of nothing is no crash.
func TestEmpty(t *testing.T) {
	for _, svg := range []string{Bars{}.SVG(), Lines{}.SVG(), Bars{Bars: []Bar{{}}}.SVG(), Lines{Places: []string{"1"}, Lines: []Line{{Values: []float64{5}}}}.SVG()} {
		assert.NotContains(t, svg, "NaN")
		assert.Len(t, elements(t, svg, "svg"), 1)
	}
}
