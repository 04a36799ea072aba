import process from 'node:process';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { clusterOptions, withCluster } from '../server/server-options.ts';
import { stdout } from '../terminal.ts';

const optionsSchema = z.object({ ...clusterOptions, output: z.enum(['text', 'json']) });

export const addCheckCommand = (program: Command, colour: boolean): void => {
  const command = program
    .command('check')
    .description(
      'check the installation in a cluster: CRDs, pods, leader, Services, Secrets, certificates, permissions, ClickHouse and versions; exits with 1 if a check fails',
    )
    .addOption(
      new Option('-o, --output <format>', 'output format: text, or json with one finding per line')
        .choices(['text', 'json'])
        .default('text'),
    );
  withExamples(
    command,
    ['Check the installation in the current context', 'check'],
    [
      'Check another cluster, and print the failed checks',
      `check --context prod -o json | jq 'select(.status == "Failed")'`,
    ],
  );
  withCluster(command).action(async (raw: unknown) => {
    const { output, ...options } = optionsSchema.parse(raw);
    const { openKubeClient, SYSTEM_NAMESPACE } = await import('../server/open-cluster.ts');
    const { formatFindings, runCheck } = await import('./run-check.ts');
    const client = openKubeClient(options);
    try {
      const findings = await runCheck(client, options.systemNamespace ?? SYSTEM_NAMESPACE);
      if (output === 'json') for (const finding of findings) stdout.json(finding);
      else for (const line of formatFindings(findings)) stdout.line(line, colour);
      if (findings.some(({ status }) => status === 'Failed')) process.exitCode = 1;
    } finally {
      await client.close();
    }
  });
};
