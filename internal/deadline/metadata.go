package deadline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// linkLocal is where the clouds have their metadata services.
const linkLocal = "http://169.254.169.254"

// metadata asks the metadata service of a machine. Its answers are about this machine: no proxy
// and no other address may give them.
type metadata struct {
	base   string
	client *http.Client
}

func newMetadata(base string) metadata {
	return metadata{
		base: strings.TrimSuffix(cmp.Or(base, linkLocal), "/"),
		client: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxOutput},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// reply is what a service has answered.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request with headers given as names and values in turn.
func (m metadata) do(ctx context.Context, method, path string, header ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, m.base+path, nil)
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput+1))
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", method, req.URL, err)
	}
	if len(body) > maxOutput {
		return reply{}, fmt.Errorf("%s %s: the answer is longer than %d bytes", method, req.URL, maxOutput)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}, nil
}

// unexpected is the error for a reply that should not be.
func (m metadata) unexpected(path string, r reply) error {
	return fmt.Errorf("%s%s has answered %d %.60q", m.base, path, r.status, r.body)
}

// gcp is a preemptible machine of Google: it has 30 seconds.
type gcp struct {
	noticeClock
	metadata
}

const (
	gcpPath  = "/computeMetadata/v1/instance/preempted"
	gcpGrace = 30 * time.Second
)

func (g *gcp) ask(ctx context.Context) (*answer, error) {
	began := time.Now()
	r, err := g.do(ctx, http.MethodGet, gcpPath, "Metadata-Flavor", "Google")
	switch said := strings.TrimSpace(r.body); {
	case err != nil:
		return nil, err
	case r.status == http.StatusOK && said == "TRUE":
		return g.given(said, func() time.Time { return began.Add(gcpGrace) }), nil
	case r.status == http.StatusOK && said == "FALSE":
		return g.absent()
	}
	return nil, g.unexpected(gcpPath, r)
}
