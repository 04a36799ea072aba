import type { ManifestFinding } from '@standin/operator';

/** `orders.yaml:12: error: Endpoint default/create-order: spec.slug: must begin with /`, and a summary line. */
export const formatFindings = (findings: readonly ManifestFinding[], files: number): readonly string[] => {
  const lines = findings.map(({ file, line, severity, object, path, message }) =>
    [`${file}:${line}`, severity, object, path, message].filter((part) => part !== '').join(': '),
  );
  const count = (severity: ManifestFinding['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
  const summary = `${plural(files, 'file')}: ${plural(count('error'), 'error')}, ${plural(count('warning'), 'warning')}`;
  const hints = [
    ...(findings.some(isMissingReference)
      ? ['If what is missing is in the cluster already: --partial makes that a warning.']
      : []),
    ...(findings.some(isPrivateUpstream)
      ? ['standin dev accepts private upstreams, as --allow-private-upstreams does here.']
      : []),
  ];
  return [...lines, summary, ...hints];
};

const isMissingReference = ({ severity, path, message }: ManifestFinding): boolean =>
  severity === 'error' && /^spec\.(project|account)Ref\.name$/.test(path) && message.startsWith('There is no');

const isPrivateUpstream = ({ severity, path, message }: ManifestFinding): boolean =>
  severity === 'error' && path === 'spec.forward.url' && message.includes('not allowed by the administrator');
