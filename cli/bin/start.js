// `npm start`: installs what is missing, then runs `standin dev` on Node 24.
import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { ensureInstalled, nodePath, root } from './ensure-installed.js';

await ensureInstalled();
const args = [path.join(root, 'cli/src/main.ts'), 'dev', ...process.argv.slice(2)];
const child = spawn(nodePath(), args, { stdio: 'inherit', env: { ...process.env, STANDIN_STARTED_BY_NPM: '1' } });
// The terminal sends Ctrl-C to both; the child decides when it is done.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
