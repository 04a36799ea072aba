import path from 'node:path';
import { z } from 'zod';
import { runCommand } from '../cluster/run-command.ts';

/**
 * `npm run audit` fails on a known vulnerability of high or critical severity in a package that runs in production, unless it is
 * waived. If the registry does not support audits, as is the case for many mirrors, the command prints the registry's message and
 * exits successfully.
 */

/** The reason why an advisory is accepted, by id. */
const WAIVED: Readonly<Record<string, string>> = {
  'GHSA-rxv8-25v2-qmq8':
    'CVE-2026-34077: turbo-stream 2 of Remix 2, which gets no fix. docs/internals/adr/004-remix-2.md bounds it.',
};
const FAILS: readonly string[] = ['high', 'critical'];
const TIMEOUT_MS = 2 * 60_000;

const advisorySchema = z.object({ name: z.string(), title: z.string(), url: z.string(), severity: z.string() });
/** The output of `npm audit --json`. An element of `via` is an advisory, or the name of a dependency that an advisory affects. */
const reportSchema = z.union([
  z.object({
    vulnerabilities: z.record(z.string(), z.object({ via: z.array(z.union([z.string(), advisorySchema])) })),
  }),
  // The output of a failed request. Other errors, such as a missing lockfile, have no message.
  z.object({ message: z.string() }),
]);

const { stdout, stderr } = await runCommand('npm', ['audit', '--omit=dev', '--json'], {
  cwd: path.join(import.meta.dirname, '../..'),
  timeoutMs: TIMEOUT_MS,
});
const report = reportSchema.safeParse(JSON.parse(stdout === '' ? 'null' : stdout));
if (!report.success) throw new Error(`npm audit failed:\n${stdout}${stderr}`);

if ('message' in report.data) {
  console.log(`The registry does not support audits, so nothing was checked: ${report.data.message}`);
} else {
  const found = Object.values(report.data.vulnerabilities)
    .flatMap(({ via }) => via.filter((entry) => typeof entry !== 'string'))
    .map((advisory) => ({ ...advisory, id: path.posix.basename(advisory.url) }));
  for (const { id, name, severity, title, url } of found) {
    const verdict = !FAILS.includes(severity) ? 'reported only' : id in WAIVED ? 'waived' : 'FAILS';
    console.log(`${verdict}: ${severity}: ${name}: ${title} (${url})`);
  }
  for (const [id, reason] of Object.entries(WAIVED)) {
    const isFound = found.some((advisory) => advisory.id === id);
    console.log(isFound ? `${id} is waived. ${reason}` : `${id} is no longer found: remove its waiver.`);
  }
  const failing = found.filter(({ id, severity }) => FAILS.includes(severity) && !(id in WAIVED));
  console.log(
    `${found.length} advisories, ${failing.length} to fix: upgrade, or waive with a reason in test/suite/audit.ts.`,
  );
  if (failing.length > 0) process.exitCode = 1;
}
