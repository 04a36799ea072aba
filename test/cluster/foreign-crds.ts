import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { goVersion } from './go-program.ts';
import { runCommand } from './run-command.ts';

const MODULE = path.join(import.meta.dirname, 'crds');
/** Which tests need the CRDs: the tests of the chart, or those of docs/guides/gitops. */
type CrdSet = 'chart' | 'gitops';

/** The CRD files of each set, by the Go module that contains them. */
const CHART: Readonly<Record<string, readonly string[]>> = {
  'github.com/cert-manager/cert-manager': [
    'deploy/crds/cert-manager.io_certificates.yaml',
    'deploy/crds/cert-manager.io_issuers.yaml',
  ],
  'github.com/prometheus-operator/prometheus-operator': [
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  'sigs.k8s.io/gateway-api': ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
};
const GITOPS: Readonly<Record<string, readonly string[]>> = {
  'github.com/argoproj/argo-cd/v3': [
    'manifests/crds/application-crd.yaml',
    'manifests/crds/applicationset-crd.yaml',
    'manifests/crds/appproject-crd.yaml',
  ],
  'github.com/fluxcd/helm-controller': ['config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml'],
  'github.com/fluxcd/kustomize-controller': ['config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml'],
  'github.com/fluxcd/source-controller': ['config/crd/bases/source.toolkit.fluxcd.io_gitrepositories.yaml'],
};
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;

const downloaded = z.object({ Dir: z.string() });

/**
 * Returns the CRDs of ServiceMonitor, PrometheusRule, HTTPRoute, Certificate and Issuer, or those of Argo CD and Flux, as published
 * by their projects. The CRDs are files of Go modules from the module proxy, with the checksums in ./crds/go.sum. Throws
 * MissingToolError without Go.
 */
export const readForeignCrds = async (set: CrdSet = 'chart'): Promise<readonly string[]> => {
  await goVersion();
  const files = await Promise.all(
    Object.entries(set === 'chart' ? CHART : GITOPS).map(async ([module, names]) => {
      const options = { cwd: MODULE, timeoutMs: DOWNLOAD_TIMEOUT_MS };
      const { code, stdout, stderr } = await runCommand('go', ['mod', 'download', '-json', module], options);
      if (code !== 0) throw new Error(`go mod download ${module} ended with ${code}: ${stderr}${stdout}`);
      const { Dir } = downloaded.parse(JSON.parse(stdout));
      return Promise.all(names.map((name) => readFile(path.join(Dir, name), 'utf8')));
    }),
  );
  return files.flat();
};
