// Loaded into each process that tests start (node --import): it ends when the test's process is gone, however that ended.
import process from 'node:process';

process.on('disconnect', () => process.exit(137));
// Listening must not keep alive a process that has nothing else to do.
process.channel?.unref();
