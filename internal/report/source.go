package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// queryTime bounds one query.
	queryTime = 30 * time.Second
	// maxAnswer bounds the answer to one query, in bytes.
	maxAnswer = 32 << 20
	// maxFault bounds the text of a fault, in bytes.
	maxFault = 300
)

// series is a line of a graph: its labels, and a value for each step, NaN if there is none.
type series struct {
	labels map[string]string
	values []float64
}

// source is a Prometheus, and the span of time that is asked for.
type source struct {
	at         *url.URL
	token      string
	client     *http.Client
	start, end time.Time
	step       time.Duration
}

var errAddress = errors.New("the address of Prometheus is none: write it as http://localhost:9090")

// newSource returns the Prometheus at an address.
func newSource(o Options) (*source, error) {
	u, err := url.Parse(o.Prometheus)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errAddress // not err, which has the address with its password
	}
	s := &source{at: u, token: o.Token, end: o.Now, start: o.Now.Add(-o.For), step: max(o.For/maxSteps, time.Second).Round(time.Second)}
	// The token is for this server only.
	s.client = &http.Client{Timeout: queryTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

// answer is an answer of the HTTP API of Prometheus.
type answer struct {
	Status, Error string
	Data          struct {
		ResultType string
		Result     json.RawMessage
	}
}

// stream is a series in an answer.
type stream struct {
	Metric map[string]string
	Values [][2]json.RawMessage
}

// ask returns the series of a query.
func (s *source) ask(ctx context.Context, expr string) ([]series, error) {
	form := url.Values{
		"query": {expr}, "start": {seconds(s.start)}, "end": {seconds(s.end)}, "step": {strconv.FormatFloat(s.step.Seconds(), 'f', -1, 64)},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.at.JoinPath("api/v1/query_range").String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errAddress
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(req)
	if err != nil {
		return nil, s.away(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, s.away(err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("%s answers with more than %d MiB: ask for a shorter time", s.at.Redacted(), maxAnswer>>20)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a.Status == "" {
		return nil, fmt.Errorf("%s answers with %s, and not as a Prometheus", s.at.Redacted(), response.Status)
	}
	if a.Status != "success" {
		return nil, fmt.Errorf("%s refuses the query: %s", s.at.Redacted(), short(a.Error))
	}
	var streams []stream
	if err := json.Unmarshal(a.Data.Result, &streams); err != nil || a.Data.ResultType != "matrix" {
		return nil, fmt.Errorf("%s answers with something else than series", s.at.Redacted())
	}
	all := make([]series, 0, len(streams))
	for _, next := range streams {
		all = append(all, s.lined(next))
	}
	return all, nil
}

// lined puts the samples of a stream at their steps.
func (s *source) lined(from stream) series {
	line := series{labels: from.Metric, values: make([]float64, int(s.end.Sub(s.start)/s.step)+1)}
	for i := range line.values {
		line.values[i] = math.NaN()
	}
	for _, sample := range from.Values {
		var at float64
		var text string
		if json.Unmarshal(sample[0], &at) != nil || json.Unmarshal(sample[1], &text) != nil {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		i := int(math.Round((at - float64(s.start.UnixMilli())/1000) / s.step.Seconds()))
		if err == nil && !math.IsInf(value, 0) && i >= 0 && i < len(line.values) {
			line.values[i] = value
		}
	}
	return line
}

// away says why Prometheus gave no answer. The error of net/http has the address without its password.
func (s *source) away(err error) error {
	var network *url.Error
	if errors.As(err, &network) {
		if network.Timeout() {
			return fmt.Errorf("%s does not answer in %s", s.at.Redacted(), queryTime)
		}
		err = network.Err
	}
	return fmt.Errorf("%s does not answer: %s", s.at.Redacted(), short(err.Error()))
}

func seconds(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

func short(text string) string {
	if text = strings.TrimSpace(text); len(text) > maxFault {
		return strings.ToValidUTF8(text[:maxFault], "") + "…"
	}
	return text
}
