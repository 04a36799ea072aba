// Plain JavaScript without dependencies, because every Node version must be able to run it far enough to print the message.
import process from 'node:process';

const OLDEST = [22, 19];

/** Ends the process with a message if its Node version is too old. */
export const checkNode = (program) => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  process.stderr.write(
    `${program} needs Node.js ${OLDEST.join('.')} or newer; ${process.execPath} is ${process.versions.node}. ` +
      'Install a newer version from https://nodejs.org.\n',
  );
  process.exit(1);
};
