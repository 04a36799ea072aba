// startProcess loads this file into each process (node --import). It ends the process when the test process ends for any reason.
import process from 'node:process';

process.on('disconnect', () => process.exit(137));
// The listener must not keep a process alive that has no other work.
process.channel?.unref();
