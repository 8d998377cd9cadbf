package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// requestTime bounds a request with its tries and the search for credentials.
	requestTime = 10 * time.Second
	tries       = 3
	// idleConnections are kept for the next requests.
	idleConnections = 16
	// contentType keeps a browser from showing an object that somebody made public by mistake.
	contentType = "application/octet-stream"
)

// Address is where a bucket is. Its zero value names no bucket.
type Address struct {
	bucket, prefix, region string
	endpoint               string
	pathStyle, readOnly    bool
}

// The names that S3 allows; prefixes are restricted to what needs no escape.
var (
	bucketNames = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixes    = regexp.MustCompile(`^([A-Za-z0-9._-]{1,100}/){0,8}$`)
	regions     = regexp.MustCompile(`^[a-z0-9-]{0,40}$`)
)

// Parse reads an address s3://bucket/prefix?region=…&endpoint=…&path_style=true&write=false. Every part but the bucket may be absent; "" is the zero
// value. An error does not repeat the address, in which somebody may have written a credential.
func Parse(text string) (Address, error) {
	if text == "" {
		return Address{}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" {
		return Address{}, errors.New("the address of a bucket has the form s3://bucket/prefix")
	}
	if u.User != nil {
		return Address{}, errors.New("the address of a bucket has no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or a role")
	}
	a := Address{bucket: u.Host, prefix: strings.TrimPrefix(u.Path, "/")}
	if a.prefix != "" && !strings.HasSuffix(a.prefix, "/") {
		a.prefix += "/"
	}
	if !bucketNames.MatchString(a.bucket) {
		return Address{}, errors.New("the name of a bucket has 3 to 63 lower-case letters, digits, dots and dashes")
	}
	if !prefixes.MatchString(a.prefix) || u.Fragment != "" {
		return Address{}, errors.New("the prefix of a bucket has at most 8 names of letters, digits, dots, dashes and underscores")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errors.New("the parameters of a bucket are region, endpoint, path_style and write")
	}
	for name, values := range query {
		value := values[0]
		switch {
		case len(values) > 1:
			return Address{}, fmt.Errorf("the address of a bucket has %s more than once", name)
		case name == "region" && regions.MatchString(value):
			a.region = value
		case name == "endpoint" && isEndpoint(value):
			a.endpoint = value
		case name == "path_style":
			if a.pathStyle, err = strconv.ParseBool(value); err != nil {
				return Address{}, errors.New("path_style of a bucket is true or false")
			}
		case name == "write":
			write, err := strconv.ParseBool(value)
			if err != nil {
				return Address{}, errors.New("write of a bucket is true or false")
			}
			a.readOnly = !write
		default:
			return Address{}, errors.New("the parameters of a bucket are region, endpoint=https://host:port, path_style and write")
		}
	}
	return a, nil
}

func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// IsZero reports whether the address names no bucket.
func (a Address) IsZero() bool { return a.bucket == "" }

// String returns the address without its parameters. Objects are found by it later, also under another endpoint.
func (a Address) String() string { return "s3://" + a.bucket + "/" + a.prefix }

// Bucket is a bucket. It is safe for concurrent use.
type Bucket struct {
	at     Address
	client *s3.Client
}

// Open returns the bucket at an address. It sends no request. Its error says what the environment lacks.
func Open(ctx context.Context, at Address) (*Bucket, error) {
	b := &Bucket{at: at}
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = idleConnections
	})
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(transport), config.WithRetryMaxAttempts(tries), config.WithLogger(logging.Nop{}),
		// Not all services with the API of S3 know the checksums of newer SDKs. The reader of an object compares its digest.
		config.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		config.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
	}
	if at.region != "" {
		options = append(options, config.WithRegion(at.region))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, errors.New("the configuration of the AWS SDK cannot be read: check the variables AWS_… and the profile")
	}
	if c.Region == "" {
		if at.endpoint == "" && c.BaseEndpoint == nil {
			return nil, errors.New("the bucket has no region: set AWS_REGION, or region= in its address")
		}
		c.Region = "us-east-1" // services at an endpoint of their own take it
	}
	b.client = s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle = at.pathStyle
		if at.endpoint != "" {
			o.BaseEndpoint = aws.String(at.endpoint)
		}
	})
	return b, nil
}

// Name returns the address of the bucket, without its parameters.
func (b *Bucket) Name() string { return b.at.String() }

// Writes reports whether new objects may be put. Objects can be read and deleted in any case.
func (b *Bucket) Writes() bool { return !b.at.readOnly }

// Put stores an object, in the place of one with the same key.
func (b *Bucket) Put(ctx context.Context, key string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.at.bucket, Key: b.key(key), Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))), ContentType: aws.String(contentType),
	})
	return failure("put", err)
}

// Get returns at most limit bytes of an object. found is false if there is none.
func (b *Bucket) Get(ctx context.Context, key string, limit int) (data []byte, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	got, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.at.bucket, Key: b.key(key)})
	if codeOf(err) == "NoSuchKey" || codeOf(err) == "NotFound" {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, failure("get", err)
	}
	defer got.Body.Close()
	all := bytes.NewBuffer(make([]byte, 0, limit+bytes.MinRead))
	if _, err := all.ReadFrom(io.LimitReader(got.Body, int64(limit))); err != nil {
		return nil, false, failure("get", err)
	}
	return all.Bytes(), true, nil
}

// Delete deletes an object. It is no error if there is none.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.at.bucket, Key: b.key(key)})
	if codeOf(err) == "NoSuchKey" {
		return nil
	}
	return failure("delete", err)
}

func (b *Bucket) key(key string) *string { return aws.String(b.at.prefix + key) }

// Error is the failure of a request. It has no text of the server but its error code.
type Error struct {
	// Op is put, get or delete.
	Op string
	// Code is the error code of the server, such as AccessDenied, or what is wrong with the connection.
	Code string
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("the bucket of outputs: %s: %s", e.Op, e.Code)
	if e.Code == "AccessDenied" {
		text += ": the identity needs s3:PutObject, s3:GetObject and s3:DeleteObject"
	}
	return text
}

// LogReason implements errs.Reasoner.
func (e *Error) LogReason() string { return e.Error() }

// codes are the error codes of servers; another text of a server is not repeated.
var codes = regexp.MustCompile(`^[A-Za-z]{1,60}$`)

// codeOf returns the error code of a server, or "".
func codeOf(err error) string {
	var server smithy.APIError
	if errors.As(err, &server) && codes.MatchString(server.ErrorCode()) {
		return server.ErrorCode()
	}
	return ""
}

// failure returns err without text of the server. Every error is transient: it passes by itself, or when an operator has corrected the
// credentials or the bucket. None is a fault of the call.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	var answer *awshttp.ResponseError
	code := codeOf(err)
	switch {
	case code != "":
	case errors.As(err, &answer) && answer.HTTPStatusCode() >= http.StatusBadRequest:
		code = "status " + strconv.Itoa(answer.HTTPStatusCode())
	case errors.Is(err, context.Canceled):
		code = "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		code = "no answer in time"
	case strings.Contains(err.Error(), "credentials"):
		code = "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or a role"
	default:
		code = "no connection"
	}
	return errs.Transient(&Error{Op: op, Code: code})
}
