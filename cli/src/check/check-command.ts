import process from 'node:process';
import type { KubeClient } from '@standin/kube';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { withExamples } from '../examples.ts';
import { clusterOptions, withCluster } from '../server/server-options.ts';
import { stdout } from '../terminal.ts';

const optionsSchema = z.object({ ...clusterOptions, output: z.enum(['text', 'json']) });

export const addCheckCommand = (program: Command, colour: boolean): void => {
  const command = program
    .command('check')
    .summary('check the installation in a cluster; exit 1 if a check fails')
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
    const { formatCheckFindings, runCheck } = await import('./run-check.ts');
    await withInstallation(raw, async ({ client, namespace, output }) => {
      const findings = await runCheck(client, namespace);
      if (output === 'json') for (const finding of findings) stdout.json(finding);
      else for (const line of formatCheckFindings(findings)) stdout.line(line, colour);
      if (findings.some(({ status }) => status === 'Failed')) process.exitCode = 1;
    });
  });
};

export const addStatusCommand = (program: Command, colour: boolean): void => {
  const command = program
    .command('status')
    .summary('show an installation in a cluster, and the resources that are not ready')
    .description(
      'show an installation in a cluster: the pods of its components with their versions, and the Accounts, Projects and Endpoints that are not ready',
    )
    .addOption(
      new Option('-o, --output <format>', 'output format: text, or json with one object')
        .choices(['text', 'json'])
        .default('text'),
    );
  withExamples(
    command,
    ['The installation in the current context', 'status'],
    [
      'The objects of a kind that are not ready',
      `status -o json | jq '.kinds[] | select(.kind == "Endpoint").notReady[]'`,
    ],
  );
  withCluster(command).action(async (raw: unknown) => {
    const { formatStatus, readInstallationStatus } = await import('./show-status.ts');
    await withInstallation(raw, async ({ client, namespace, output }) => {
      const status = await readInstallationStatus(client, namespace);
      if (output === 'json') stdout.json(status);
      else for (const line of formatStatus(status)) stdout.line(line, colour);
    });
  });
};

interface OpenInstallation {
  readonly client: KubeClient;
  /** The namespace of Standin. */
  readonly namespace: string;
  readonly output: 'text' | 'json';
}

const withInstallation = async (
  raw: unknown,
  use: (installation: OpenInstallation) => Promise<void>,
): Promise<void> => {
  const { output, ...options } = optionsSchema.parse(raw);
  const { openKubeClient, SYSTEM_NAMESPACE } = await import('../server/open-cluster.ts');
  const client = openKubeClient(options);
  try {
    await use({ client, namespace: options.systemNamespace ?? SYSTEM_NAMESPACE, output });
  } finally {
    await client.close();
  }
};
