import { ownMember } from '@standin/contract';
import { isNotFound, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import { failed, passed, type Finding } from './finding.ts';
import { environmentVariable, findComponent, type Component, type Installation } from './installation.ts';

type Kind = 'Secret' | 'ConfigMap' | 'ServiceAccount';

/** An object that pods need to start. */
export interface Reference {
  readonly kind: Kind;
  readonly name: string;
  readonly keys: readonly string[];
  /** The component that needs it. */
  readonly component: string;
}

export type DataObject = KubeObject & {
  readonly data?: Readonly<Record<string, string>>;
  /** Of a ConfigMap. */
  readonly binaryData?: Readonly<Record<string, string>>;
};

const PLURALS: Readonly<Record<Kind, string>> = {
  Secret: 'secrets',
  ConfigMap: 'configmaps',
  ServiceAccount: 'serviceaccounts',
};

/** What the pods of a component need: mounted and read Secrets and ConfigMaps, and the ServiceAccount. */
const componentReferences = ({ name: component, workload }: Component): readonly Reference[] => {
  const { serviceAccountName, volumes = [], ...spec } = workload.spec.template.spec;
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const sources = volumes.flatMap((volume) => [volume, ...(volume.projected?.sources ?? [])]);
  const values = containers.flatMap(({ env = [] }) => env).map(({ valueFrom = {} }) => valueFrom);
  const groups = containers.flatMap(({ envFrom = [] }) => envFrom);
  const files = [
    ...sources.map(({ secret }) => ({ kind: 'Secret' as const, source: secret })),
    ...sources.map(({ configMap }) => ({ kind: 'ConfigMap' as const, source: configMap })),
    ...groups.map(({ secretRef }) => ({ kind: 'Secret' as const, source: secretRef })),
    ...groups.map(({ configMapRef }) => ({ kind: 'ConfigMap' as const, source: configMapRef })),
  ].map(({ kind, source }) => ({
    kind,
    name: source?.secretName ?? source?.name,
    keys: (source?.items ?? []).map(({ key }) => key),
    optional: source?.optional,
  }));
  const variables = [
    ...values.map(({ secretKeyRef }) => ({ kind: 'Secret' as const, source: secretKeyRef })),
    ...values.map(({ configMapKeyRef }) => ({ kind: 'ConfigMap' as const, source: configMapKeyRef })),
  ].map(({ kind, source }) => ({
    kind,
    name: source?.name,
    keys: source === undefined ? [] : [source.key],
    optional: source?.optional,
  }));
  const account = { kind: 'ServiceAccount' as const, name: serviceAccountName, keys: [], optional: false };
  return [account, ...files, ...variables].flatMap(({ kind, name, keys, optional }) =>
    name === undefined || optional === true ? [] : [{ kind, name, keys, component }],
  );
};

/** Resolves with the object, or with `undefined` if it does not exist. Rejects with `ApiError`. */
export const readObject = (
  client: KubeClient,
  namespace: string,
  { kind, name }: Pick<Reference, 'kind' | 'name'>,
): Promise<DataObject | undefined> =>
  client
    .get<DataObject>(resourcePath({ group: '', version: 'v1', plural: PLURALS[kind], namespace, name }))
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });

/** Checks that everything that the pods refer to exists. Rejects with `ApiError` if this user must not read it. */
export const checkReferences = async (
  client: KubeClient,
  installation: Installation,
  kind: Kind,
): Promise<readonly Finding[]> => {
  const { namespace } = installation;
  const check = `${kind}s`;
  const references = installation.components
    .flatMap(componentReferences)
    .filter((reference) => reference.kind === kind);
  const names = [...new Set(references.map(({ name }) => name))];
  const findings = await Promise.all(
    names.map(async (name) => {
      const object = await readObject(client, namespace, { kind, name });
      const users = references.filter((reference) => reference.name === name);
      const remedy = remedyFor(kind, name, installation);
      const components = [...new Set(users.map(({ component }) => component))].join(' and ');
      if (object === undefined)
        return [failed(check, `${kind} ${namespace}/${name} is missing. The pods of ${components} need it.`, remedy)];
      const missing = users
        .flatMap(({ keys }) => keys)
        .filter(
          (key) =>
            ownMember(object.data ?? {}, key) === undefined && ownMember(object.binaryData ?? {}, key) === undefined,
        );
      return [...new Set(missing)].map((key) =>
        failed(check, `${kind} ${namespace}/${name} has no key ${key}. The pods of ${components} need it.`, remedy),
      );
    }),
  );
  const all = findings.flat();
  return all.length > 0 ? all : [passed(check, `The pods have all ${check} that they need (${names.length}).`)];
};

const remedyFor = (kind: Kind, name: string, installation: Installation): string => {
  const operator = findComponent(installation, 'operator');
  if (kind === 'Secret' && name === environmentVariable(operator, 'STANDIN_STREAM_CERTIFICATE_SECRET'))
    return `The operator creates it within a minute. If it does not, see its log: kubectl logs deployment/${operator?.workload.metadata.name ?? ''} -n ${installation.namespace}.`;
  return kind === 'Secret' && /-tls$/.test(name)
    ? `cert-manager creates it: kubectl describe certificate -n ${installation.namespace}.`
    : `Create it again, or run helm upgrade if it is part of the chart.`;
};

/** Checks that the Services exist through which the components reach each other. */
export const checkServices = (installation: Installation): readonly Finding[] => {
  const operator = findComponent(installation, 'operator');
  const gateway = findComponent(installation, 'gateway');
  const used = [
    ['gateways', 'the operator', serviceName(environmentVariable(gateway, 'STANDIN_OPERATOR_URLS'))],
    ['callers', 'the gateways', serviceName(environmentVariable(operator, 'STANDIN_REPLAY_GATEWAY_URL'))],
    [
      'users',
      'the dashboard',
      environmentVariable(findComponent(installation, 'dashboard'), 'STANDIN_SERVICE')?.split('/')[1],
    ],
  ] as const;
  const findings = used.flatMap(([clients, server, name]) =>
    name === undefined || installation.services.includes(name)
      ? []
      : [
          failed(
            'Services',
            `Service ${installation.namespace}/${name} is missing. Through it, ${clients} reach ${server}.`,
            'Run helm upgrade, which creates it again.',
          ),
        ],
  );
  return findings.length > 0 ? findings : [passed('Services', 'The Services of all components exist.')];
};

/** The first label of a URL's host is the name of a Service. */
const serviceName = (urls: string | undefined): string | undefined => {
  const [url = ''] = (urls ?? '').split(',');
  return URL.canParse(url) ? new URL(url).hostname.split('.')[0] : undefined;
};
