package deadline

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// service is a metadata service on this machine.
type service struct {
	mu     sync.Mutex
	status int
	body   string
	asked  []string // method, path and query
}

func (s *service) set(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body = status, body
}

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	w.WriteHeader(s.status)
	_, _ = w.Write([]byte(s.body))
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// cloudSource is the source of a cloud with its service at an address.
func cloudSource(t *testing.T, cloud, address string) source {
	t.Helper()
	return noticeSource(t, cloud, func(c *Config) { c.AWS, c.GCP, c.Azure = address, address, address })
}

// TestTheAddressesOfTheClouds are those of every machine, where none is given.
func TestTheAddressesOfTheClouds(t *testing.T) {
	require.Equal(t, "http://169.254.169.254", newMetadata("").base)
	require.Equal(t, "http://127.0.0.1:80", newMetadata("http://127.0.0.1:80/").base)
}

// imds is the service of AWS in its second version: it answers nobody without a token that it has
// given, and that has not expired.
type imds struct {
	service
	given    int
	lifetime string // as it tells; empty: not
	expired  bool   // all that were given
}

func (s *imds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := func() string { return fmt.Sprint("token-", s.given) }
	switch {
	case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") == "21600":
		s.given++
		s.expired = false
		if s.lifetime != "" {
			w.Header().Set("X-aws-ec2-metadata-token-ttl-seconds", s.lifetime)
		}
		_, _ = w.Write([]byte(token()))
	case r.URL.Path == "/latest/api/token":
		w.WriteHeader(http.StatusBadRequest)
	case r.Header.Get("X-aws-ec2-metadata-token") != token() || s.expired:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		s.answer(w, r)
	}
}

func TestAWS(t *testing.T) {
	s := &imds{}
	source := cloudSource(t, "aws", serve(t, s.ServeHTTP))
	s.set(http.StatusNotFound, "")
	for range 3 {
		a, err := ask(t, source)
		require.NoError(t, err)
		require.Equal(t, none, a)
	}
	require.Equal(t, 1, s.given)

	end := time.Now().Add(2 * time.Hour).UTC()
	s.set(http.StatusOK, `{"action": "terminate", "time": "`+end.Format(time.RFC3339)+`"}`)
	first, err := ask(t, source)
	require.NoError(t, err)
	requireLeft(t, 2*time.Hour, first)
	require.Equal(t, "CRAFT_NOTICE=aws on n01", first.by)
	again, err := ask(t, source)
	require.NoError(t, err)
	require.Equal(t, first, again)

	for _, action := range []string{"stop", "hibernate"} {
		s.set(http.StatusOK, `{"action": "`+action+`", "time": "`+end.Add(time.Hour).Format(time.RFC3339)+`"}`)
		a, err := ask(t, source)
		require.NoError(t, err)
		requireLeft(t, 3*time.Hour, a)
	}

	s.set(http.StatusOK, `{"action": "terminate", "time": "soon"}`) // a notice all the same
	a, err := ask(t, source)
	require.ErrorContains(t, err, "terminate soon")
	requireLeft(t, 17*time.Minute, a)

	s.set(http.StatusNotFound, "")
	a, err = ask(t, source)
	require.NoError(t, err)
	require.Equal(t, none, a)
	require.Equal(t, "GET /latest/meta-data/spot/instance-action", s.asked[0])
}

// TestATokenIsRenewed before it expires, and when the service does not know it any more.
func TestATokenIsRenewed(t *testing.T) {
	s := &imds{lifetime: "3600"}
	s.set(http.StatusNotFound, "")
	a := &aws{noticeClock: noticeClock{clock: clock{time.Now}}, metadata: newMetadata(serve(t, s.ServeHTTP))}
	asked := func(given int) {
		t.Helper()
		answer, err := a.ask(t.Context())
		require.NoError(t, err)
		require.Equal(t, none, answer)
		require.Equal(t, given, s.given)
	}
	asked(1)
	require.InDelta(t, 54*time.Minute, time.Until(a.renewal), minute)
	a.renewal = a.renewal.Add(-54 * time.Minute) // as if so much time had passed
	asked(2)
	asked(2)
	s.expired = true
	asked(3)
	s.lifetime = "" // it is what was asked for
	s.expired = true
	asked(4)
	require.InDelta(t, 324*time.Minute, time.Until(a.renewal), minute)
}

// TestNoTokenNoAnswer: a service that gives none, or takes none, is an error.
func TestNoTokenNoAnswer(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"gives none": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"gives ''":   func(http.ResponseWriter, *http.Request) {},
		"knows none": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"takes none": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				_, _ = w.Write([]byte("token"))
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
		},
	} {
		a, err := cloudSource(t, "aws", serve(t, handler)).ask(t.Context())
		require.ErrorContains(t, err, "has answered", name)
		require.Nil(t, a, name)
	}
}

func TestGCP(t *testing.T) {
	s := &service{}
	source := cloudSource(t, "gcp", serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.answer(w, r)
	}))
	s.set(http.StatusOK, "FALSE")
	a, err := ask(t, source)
	require.NoError(t, err)
	require.Equal(t, none, a)

	s.set(http.StatusOK, "TRUE\n")
	before := time.Now()
	first, err := ask(t, source)
	require.NoError(t, err)
	require.WithinRange(t, first.at, before.Add(30*time.Second), time.Now().Add(30*time.Second))
	again, err := ask(t, source)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, "GET /computeMetadata/v1/instance/preempted", s.asked[0])
}

// azureService knows the name of its machine, vm_1, and answers about events what it is set to.
func azureService(t *testing.T, s *service) source {
	t.Helper()
	return cloudSource(t, "azure", serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Metadata") != "true" || r.URL.Query().Get("api-version") == "":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/metadata/instance/compute/name" && r.URL.Query().Get("format") == "text":
			_, _ = w.Write([]byte("vm_1"))
		case r.URL.Path == "/metadata/scheduledevents":
			s.answer(w, r)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
}

// event is one of Azure's, which is to come then.
func event(id, kind, resource string, notBefore time.Time) string {
	text := ""
	if !notBefore.IsZero() {
		text = notBefore.UTC().Format(http.TimeFormat)
	}
	return fmt.Sprintf(`{"EventId": %q, "EventType": %q, "ResourceType": "VirtualMachine", "Resources": ["vm_0", %q], "EventStatus": "Scheduled", "NotBefore": %q, "Description": "", "EventSource": "Platform", "DurationInSeconds": -1}`, id, kind, resource, text)
}

func events(list ...string) string {
	return `{"DocumentIncarnation": 3, "Events": [` + strings.Join(list, ",") + `]}`
}

func TestAzure(t *testing.T) {
	s := &service{}
	source := azureService(t, s)
	now := time.Now()
	for name, body := range map[string]string{
		"no event":        events(),
		"another machine": events(event("e1", "Preempt", "vm_10", now.Add(time.Hour))),
		"goes on":         events(event("e1", "Freeze", "vm_1", now.Add(time.Hour))),
	} {
		s.set(http.StatusOK, body)
		a, err := ask(t, source)
		require.NoError(t, err, name)
		require.Equal(t, none, a, name)
	}
	for _, kind := range []string{"Preempt", "Terminate", "Reboot", "Redeploy"} {
		s.set(http.StatusOK, events(event(kind, kind, "VM_1", now.Add(time.Hour))))
		first, err := ask(t, source)
		require.NoError(t, err)
		requireLeft(t, time.Hour, first)
		require.Equal(t, "CRAFT_NOTICE=azure on n01", first.by)
		again, err := ask(t, source)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}

	s.set(http.StatusOK, events(event("e2", "Reboot", "vm_1", now.Add(3*time.Hour)), event("e3", "Preempt", "vm_1", now.Add(2*time.Hour)), event("e4", "Reboot", "vm_2", now.Add(time.Hour))))
	a, err := ask(t, source)
	require.NoError(t, err)
	requireLeft(t, 2*time.Hour, a)

	s.set(http.StatusOK, events(event("e2", "Reboot", "vm_1", now.Add(3*time.Hour)))) // e3 was canceled
	a, err = ask(t, source)
	require.NoError(t, err)
	requireLeft(t, 3*time.Hour, a)

	s.set(http.StatusOK, events(event("e2", "Reboot", "vm_1", now.Add(5*time.Hour)))) // and e2 postponed
	a, err = ask(t, source)
	require.NoError(t, err)
	requireLeft(t, 5*time.Hour, a)
	require.Equal(t, "GET /metadata/scheduledevents?api-version=2020-07-01", s.asked[0])
}

// TestTheFirstAnswerOfAzure takes its time; no other one may.
func TestTheFirstAnswerOfAzure(t *testing.T) {
	silent := false
	a := &azure{noticeClock: noticeClock{clock: clock{time.Now}}, patience: time.Millisecond}
	a.metadata = newMetadata(serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/name") {
			_, _ = w.Write([]byte("vm_1"))
			return
		}
		if silent {
			<-r.Context().Done()
			return
		}
		time.Sleep(20 * time.Millisecond) // longer than its patience
		_, _ = w.Write([]byte(events()))
	}))
	answer, err := a.ask(t.Context())
	require.NoError(t, err)
	require.Equal(t, none, answer)
	silent = true
	_, err = a.ask(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.GreaterOrEqual(t, cloudSource(t, "azure", "").timeout, 2*time.Minute)
}

// TestEventsThatHaveBegun have no time any more: they leave the grace, but never more than was left.
func TestEventsThatHaveBegun(t *testing.T) {
	s := &service{}
	source := azureService(t, s)
	for id, c := range map[string]struct{ before, left time.Duration }{
		"e1": {5 * time.Minute, 5 * time.Minute},
		"e2": {2 * time.Hour, 17 * time.Minute},
		"e3": {0, 17 * time.Minute},
	} {
		if c.before != 0 {
			s.set(http.StatusOK, events(event(id, "Preempt", "vm_1", time.Now().Add(c.before))))
			a, err := ask(t, source)
			require.NoError(t, err)
			requireLeft(t, c.before, a)
		}
		s.set(http.StatusOK, events(event(id, "Preempt", "vm_1", time.Time{})))
		first, err := ask(t, source)
		require.NoError(t, err)
		requireLeft(t, c.left, first)
		again, err := ask(t, source)
		require.NoError(t, err)
		require.Equal(t, first, again)
	}

	s.set(http.StatusOK, events(`{"EventId": "e9", "EventType": "Preempt", "Resources": ["vm_1"], "NotBefore": "soon"}`))
	a, err := ask(t, source)
	require.ErrorContains(t, err, `"soon"`)
	requireLeft(t, 17*time.Minute, a)
}

// TestServicesThatAnswerSomethingElse know nothing: errors, garbage, too much, other addresses.
func TestServicesThatAnswerSomethingElse(t *testing.T) {
	s := &service{}
	var elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	token := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			_, _ = w.Write([]byte("token"))
		case strings.HasSuffix(r.URL.Path, "/name"):
			_, _ = w.Write([]byte("vm_1"))
		default:
			w.Header().Set("Location", other)
			s.answer(w, r)
		}
	}
	for _, cloud := range []string{"aws", "gcp", "azure"} {
		source := cloudSource(t, cloud, serve(t, token))
		for _, c := range []struct {
			status int
			body   string
		}{
			{http.StatusInternalServerError, "TRUE"}, {http.StatusFound, ""}, {http.StatusTemporaryRedirect, ""},
			{http.StatusOK, ""}, {http.StatusOK, "<html>please log in</html>"}, {http.StatusOK, "[]"}, {http.StatusOK, `{"action": 1, "Events": 2}`},
			{http.StatusOK, "TRUE" + strings.Repeat(" ", 10<<20)},
		} {
			s.set(c.status, c.body)
			a, err := source.ask(t.Context())
			require.Error(t, err, "%s: %d %.20q", cloud, c.status, c.body)
			require.Less(t, len(err.Error()), 300)
			require.Nil(t, a)
		}
	}
	require.Zero(t, elsewhere.Load())
}

// TestNoProxyIsAsked for what a machine says of itself. (That none is for this machine's own
// addresses would hide one from a test that has a service there.)
func TestNoProxyIsAsked(t *testing.T) {
	require.Nil(t, newMetadata("").client.Transport.(*http.Transport).Proxy)
}

// TestServicesThatDoNotAnswer: nothing listens, nobody answers, half an answer comes.
func TestServicesThatDoNotAnswer(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	a, err := cloudSource(t, "gcp", "http://"+closed.Addr().String()).ask(t.Context())
	require.Error(t, err)
	require.Nil(t, a)

	for name, handler := range map[string]http.HandlerFunc{
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"slow": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("TRUE"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		for _, cloud := range []string{"aws", "gcp", "azure"} {
			source := cloudSource(t, cloud, serve(t, handler))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			a, err := source.ask(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name, cloud)
			require.Nil(t, a)
		}
	}
}

func FuzzQstat(f *testing.F) {
	f.Add(qstatOpenPBS)
	f.Add(qstatTorque)
	f.Fuzz(func(t *testing.T, out string) {
		job, err := parseQstat(out)
		if err == nil && job.limit < 0 {
			t.Fatalf("a limit of %v", job.limit)
		}
	})
}

func FuzzMoment(f *testing.F) {
	f.Add("2026-10-25 02:30")
	f.Add("+1h")
	f.Add("18:00")
	now := time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := parseNoticed(text, now); ok && m.left < 0 {
			t.Fatalf("%q leaves %v", text, m.left)
		}
		_, _ = parseSlurmEnd(text, now)
	})
}
