import process from 'node:process';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { stdout } from '../terminal.ts';
import { readManifests } from './read-manifests.ts';
import { formatFindings } from './format-findings.ts';

const optionsSchema = z.object({
  partial: z.boolean().default(false),
  allowPrivateUpstreams: z.boolean().default(false),
  output: z.enum(['text', 'json']),
});

export const addValidateCommand = (program: Command): void => {
  program
    .command('validate')
    .description('validate manifests without a cluster, as the API server and the operator would; exit 1 on errors')
    .argument('<FILE...>', 'manifest files or directories; - reads standard input')
    .option('--partial', 'what the files refer to may be in the cluster: only warn when it is missing')
    .option('--allow-private-upstreams', 'accept upstreams with loopback and private addresses, as standin dev does')
    .addOption(
      new Option('-o, --output <format>', 'text, or json: one finding a line')
        .choices(['text', 'json'])
        .default('text'),
    )
    .action(async (paths: string[], raw: unknown) => {
      const options = optionsSchema.parse(raw);
      const { operatorSettings, translateSettings, validateManifests } = await import('@standin/operator');
      const files = await readManifests(paths);
      const settings = operatorSettings.parse({ egress: { allowPrivate: options.allowPrivateUpstreams } });
      const findings = validateManifests(files, translateSettings(settings), {
        missingReferences: options.partial ? 'warning' : 'error',
      });
      if (options.output === 'json') for (const finding of findings) stdout.json(finding);
      else for (const line of formatFindings(findings, files.length)) stdout.line(line);
      if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1;
    });
};
