package chart

import "fmt"

// Bar is one way and what it takes.
type Bar struct {
	Label string
	Kind  Kind
	// Value is the bar's length. Tail, if it is larger, is where a thin line beyond the bar ends.
	Value, Tail float64
}

// Bars is a picture of horizontal bars on a logarithmic scale.
type Bars struct {
	Title, Subtitle string
	// Unit is written behind values.
	Unit string
	Bars []Bar
}

// The measures of a picture of bars, in pixels.
const (
	barWidth   = 760
	barLeft    = 210
	barRight   = 90
	barTop     = 62
	barStep    = 24
	barHeight  = 14
	barsBottom = 30
)

// SVG draws the picture.
func (b Bars) SVG() string {
	height := barTop + barStep*len(b.Bars) + barsBottom
	d := newDrawing(barWidth, height, b.Title, b.Subtitle)
	var values []float64
	for _, bar := range b.Bars {
		values = append(values, bar.Value, bar.Tail)
	}
	s := newScale(values, barLeft, barWidth-barRight)
	bottom := float64(barTop + barStep*len(b.Bars))
	for _, v := range s.ticks() {
		d.line("grid", point{s.at(v), barTop - 6}, point{s.at(v), bottom})
		d.anchored(s.at(v), bottom+16, "soft", "middle", tick(v)+" "+b.Unit)
	}
	for i, bar := range b.Bars {
		d.bar(s, bar, float64(barTop+i*barStep), b.Unit)
	}
	return d.end()
}

func (d *drawing) bar(s scale, b Bar, y float64, unit string) {
	const baseline = 11.5
	d.anchored(barLeft-10, y+baseline, "", "end", b.Label)
	end := s.at(b.Value)
	fmt.Fprintf(&d.b, "<rect class=\"%s\" x=\"%d\" y=\"%s\" width=\"%s\" height=\"%d\" rx=\"2\"/>\n",
		b.Kind.class(), barLeft, number(y), number(max(end-barLeft, 1)), barHeight)
	if b.Tail > b.Value {
		middle := y + barHeight/2
		d.line("whisker "+b.Kind.class(), point{end, middle}, point{s.at(b.Tail), middle})
		end = s.at(b.Tail)
	}
	d.text(end+6, y+baseline, "soft", figure(b.Value)+" "+unit)
}
