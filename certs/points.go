package certs

// Fail-points of [Create], in the order it passes them. The hook is called
// with each name after the step is done; an error from it ends Create there,
// with everything left as a crash would leave it.
const (
	PointTempDir     = "identity_temp_dir"    // the temporary folder exists
	PointKeyCreated  = "identity_key_created" // the key file exists, empty
	PointKeyWritten  = "identity_key_written" // written, not synced
	PointKeySynced   = "identity_key_synced"
	PointCertCreated = "identity_cert_created"
	PointCertWritten = "identity_cert_written"
	PointCertSynced  = "identity_cert_synced"
	PointTempSynced  = "identity_temp_synced" // the temporary folder is synced
	PointRenamed     = "identity_renamed"     // it has its final name
	PointDirSynced   = "identity_dir_synced"  // and that is synced
)

// Points returns every fail-point in order.
func Points() []string {
	return []string{
		PointTempDir,
		PointKeyCreated, PointKeyWritten, PointKeySynced,
		PointCertCreated, PointCertWritten, PointCertSynced,
		PointTempSynced, PointRenamed, PointDirSynced,
	}
}
