import process from 'node:process';
import type { ManifestFinding } from '@standin/operator';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { countText } from '../count-text.ts';
import { withExamples } from '../examples.ts';
import { stdout } from '../terminal.ts';
import { readManifests } from './read-manifests.ts';

const optionsSchema = z.object({
  partial: z.boolean().default(false),
  allowPrivateUpstreams: z.boolean().default(false),
  output: z.enum(['text', 'json']),
});

export const addValidateCommand = (program: Command): void => {
  const command = program
    .command('validate')
    .summary('validate manifests without a cluster')
    .description('validate manifests without a cluster, as the API server and the operator would; exit 1 on errors')
    .argument('<FILE...>', 'manifest files or directories; - reads standard input')
    .option('--partial', 'report missing references as warnings, because the objects may be in the cluster')
    .option('--allow-private-upstreams', 'allow upstreams with loopback and private addresses, as standin dev does')
    .addOption(
      new Option('-o, --output <format>', 'output format; json prints one finding per line')
        .choices(['text', 'json'])
        .default('text'),
    );
  withExamples(
    command,
    ['Validate all manifests in a directory', 'validate standin'],
    ['Validate rendered manifests whose account is in the cluster', 'validate --partial -'],
  ).action(async (paths: string[], raw: unknown) => {
    const options = optionsSchema.parse(raw);
    const { operatorSettings, translateSettings, validateManifests } = await import('@standin/operator');
    const files = await readManifests(paths);
    const settings = operatorSettings.parse({ egress: { allowPrivate: options.allowPrivateUpstreams } });
    const findings = validateManifests(files, translateSettings(settings), {
      missingReferences: options.partial ? 'warning' : 'error',
    });
    if (options.output === 'json') for (const finding of findings) stdout.json(finding);
    else for (const line of formatManifestFindings(findings, files.length)) stdout.line(line);
    if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1;
  });
};

/** Returns lines such as `orders.yaml:12: error: Endpoint default/create-order: spec.slug: must begin with /`, and a summary. */
export const formatManifestFindings = (findings: readonly ManifestFinding[], files: number): readonly string[] => {
  const lines = findings.map(({ file, line, severity, object, path, message }) =>
    [`${file}:${line}`, severity, object, path, message].filter((part) => part !== '').join(': '),
  );
  const count = (severity: ManifestFinding['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const summary = `${countText(files, 'file')}: ${countText(count('error'), 'error')}, ${countText(count('warning'), 'warning')}`;
  const hints = [
    ...(findings.some(isMissingReference)
      ? ['If the missing objects are in the cluster, use --partial to report them as warnings.']
      : []),
    ...(findings.some(isPrivateUpstream)
      ? ['standin dev allows private upstreams. To allow them here, use --allow-private-upstreams.']
      : []),
  ];
  return [...lines, summary, ...hints];
};

const isMissingReference = ({ severity, path, message }: ManifestFinding): boolean =>
  severity === 'error' && /^spec\.(project|account)Ref\.name$/.test(path) && message.startsWith('There is no');

const isPrivateUpstream = ({ severity, path, message }: ManifestFinding): boolean =>
  severity === 'error' && path === 'spec.forward.url' && message.includes('not allowed by the administrator');
