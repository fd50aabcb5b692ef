package env

// The launcher tells the processes of a job with these variables what they are.
const (
	Role       = Prefix + "_ROLE"
	RoleDaemon = "daemon"
	RoleRank   = "rank"

	// NodePath is the directory of the node's own storage.
	NodePath = Prefix + "_NODE_PATH"
	// Levels: what is on the nodes is to be found by the next job too.
	Levels = Prefix + "_LEVELS"
	// RecoveryPolicy and SpawnPolicy are set for the ranks when the launcher was
	// given policies.
	RecoveryPolicy = Prefix + "_COMM_RECOVERY_POLICY"
	SpawnPolicy    = Prefix + "_COMM_SPAWN_POLICY"
)

// ControlFD is the descriptor of a rank's connection to its daemon.
const ControlFD = 3
