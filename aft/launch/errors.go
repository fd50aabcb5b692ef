package launch

import "errors"

var (
	// ErrConfig is returned for a job that cannot be meant or cannot fit; nothing
	// was started.
	ErrConfig = errors.New("the job cannot be started")

	// ErrJob is returned when a job has failed, by the exit code of a rank or as
	// a whole; the text says why.
	ErrJob = errors.New("the job has failed")

	// ErrOutput is returned when the output of the ranks could not be written, all or some
	// of it; that of a job which ends well has the exit code 1 if it was standard output.
	ErrOutput = errors.New("output of the ranks is lost")

	// ErrAbandoned is an ErrJob as well: output of the job was given up, by the fourth signal to end it,
	// or because nobody had taken it when the time was nearly over in which it was to end. Nobody may read
	// what there is to say about that.
	ErrAbandoned = errors.New("the output of the job was given up")
)

// reported is one of these errors, in words that do not begin with it.
type reported struct {
	text  string
	as    error
	cause error // nil: there is none
}

func (e *reported) Error() string   { return e.text }
func (e *reported) Unwrap() []error { return []error{e.as, e.cause} }

func configError(err error) error { return &reported{err.Error(), ErrConfig, err} }
