package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Sizes of graphs, in units of their drawings.
const (
	graphWidth, graphHeight = 560, 170
	sparkWidth, sparkHeight = 160, 28
	// marginLeft is for the numbers of the axis, marginBottom for the times.
	marginLeft, marginBottom, marginTop, marginRight = 58, 20, 6, 8
	// markRoom is half of the width of the text of a time, less the margin at the right.
	markRoom = 20
)

// timeFormat is how times are written.
const timeFormat = "2006-01-02 15:04:05 UTC"

// chart is a drawing of lines.
type chart struct {
	Width, Height int
	Paths         []path
	// X and Y are the marks of the axes.
	X, Y  []mark
	top   float64
	inner struct{ left, right, top, bottom float64 }
}

type path struct {
	Color int
	D     string
}

// mark is a line of the grid with a text.
type mark struct {
	At   float64
	Text string
}

// newChart draws lines from 0 to the highest value, without axes.
func newChart(lines []series, width, height int) *chart {
	c := &chart{Width: width, Height: height}
	c.inner.right, c.inner.bottom, c.inner.top = float64(width), float64(height)-1, 2
	if width == graphWidth {
		c.inner.left, c.inner.right, c.inner.top, c.inner.bottom = marginLeft, float64(width-marginRight), marginTop, float64(height-marginBottom)
	}
	for _, line := range lines {
		c.top = max(c.top, highest(line.values))
	}
	c.top = ceiling(c.top)
	for i, line := range lines {
		c.Paths = append(c.Paths, path{i, c.draw(line.values)})
	}
	return c
}

// draw returns the path of a line, with gaps where there is no value.
func (c *chart) draw(values []float64) string {
	var b strings.Builder
	pen, n := "M", float64(max(len(values)-1, 1))
	for i, v := range values {
		if math.IsNaN(v) {
			pen = "M"
			continue
		}
		x, y := c.inner.left+(c.inner.right-c.inner.left)*float64(i)/n, c.y(v)
		b.WriteString(pen + coordinate(x) + " " + coordinate(y))
		if pen == "M" && (i+1 == len(values) || math.IsNaN(values[i+1])) {
			b.WriteString("h1") // a value with no neighbours is a dot
		}
		pen = "L"
	}
	return b.String()
}

func (c *chart) y(v float64) float64 {
	return c.inner.bottom - (c.inner.bottom-c.inner.top)*min(max(v, 0)/c.top, 1)
}

// axes adds the marks: values at the left, times below.
func (c *chart) axes(s *source, unit string) {
	for i := range 5 {
		v := c.top * float64(i) / 4
		c.Y = append(c.Y, mark{round(c.y(v)), number(v, unit)})
	}
	whole := s.end.Sub(s.start)
	each, format := timeMarks(whole)
	for t := s.start.UTC().Truncate(each).Add(each); t.Before(s.end); t = t.Add(each) {
		at := c.inner.left + (c.inner.right-c.inner.left)*float64(t.Sub(s.start))/float64(whole)
		if at < c.inner.right-markRoom { // the text would be cut off
			c.X = append(c.X, mark{round(at), t.Format(format)})
		}
	}
}

// timeMarks returns the time between two marks, of which there are at most eight, and how to write them.
func timeMarks(whole time.Duration) (each time.Duration, format string) {
	const day = 24 * time.Hour
	for _, each = range []time.Duration{
		5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
		3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 30 * day,
	} {
		if whole/each <= 8 {
			break
		}
	}
	switch {
	case each < time.Minute:
		return each, "15:04:05"
	case each >= day:
		return each, "01-02"
	case whole > day:
		return each, "01-02 15:04"
	}
	return max(each, whole/8), "15:04"
}

// ceiling returns the top of an axis for the value v: the smallest number that is at least v, and is 1, 2, 4, 5 or 8 times
// a power of ten.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 4, 5, 8} {
		if v <= n*power {
			return n * power
		}
	}
	return 10 * power
}

// number writes a value in its unit, with three digits.
func number(v float64, unit string) string {
	switch unit {
	case "s":
		return duration(v)
	case "ops":
		return digits(v) + "/s"
	case "bytes":
		for _, u := range []string{"B", "KiB", "MiB"} {
			if math.Abs(v) < 1024 {
				return digits(v) + " " + u
			}
			v /= 1024
		}
		return digits(v) + " GiB"
	}
	return digits(v)
}

func duration(v float64) string {
	switch {
	case v == 0:
		return "0 s"
	case v < 0.001:
		return digits(v*1e6) + " µs"
	case v < 1:
		return digits(v*1e3) + " ms"
	case v < 120:
		return digits(v) + " s"
	case v < 7200:
		return digits(v/60) + " min"
	case v < 48*3600:
		return digits(v/3600) + " h"
	}
	return digits(v/86400) + " d"
}

func digits(v float64) string {
	sign := ""
	for _, u := range []struct {
		least, unit float64
		sign        string
	}{{1e9, 1e9, " G"}, {1e6, 1e6, " M"}, {1e4, 1e3, " k"}} {
		if math.Abs(v) >= u.least {
			v, sign = v/u.unit, u.sign
			break
		}
	}
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64) + sign
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + sign
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

func coordinate(v float64) string { return strconv.FormatFloat(round(v), 'f', -1, 64) }
