import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTempFolder } from './temp-folder.ts';

/** The API server's decision on a ServiceAccount's request. */
interface AuditedRequest {
  /** `namespace:name` */
  readonly serviceAccount: string;
  readonly isAllowed: boolean;
  /**
   * The role that allowed the request, as `Role namespace/name` or `ClusterRole name`. Undefined if no role allowed the request.
   */
  readonly role: string | undefined;
  /** `verb resource.group`, with the subresource: `patch mockendpoints/status.standin.dev`. */
  readonly right: string;
  /** The response's status. */
  readonly code: number | undefined;
}

export interface AuditLog {
  /** Flags for `startCluster`. */
  readonly apiServerArgs: readonly string[];
  /** Returns the requests for resources by ServiceAccounts so far, except those in kube-system. */
  read(): Promise<readonly AuditedRequest[]>;
  /** Removes the files. Must be called after the API server has stopped. */
  remove(): Promise<void>;
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * A policy that records the metadata of each request by a ServiceAccount outside kube-system once. Watches are recorded when they
 * begin, and all other requests when they end.
 */
const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  rules: [
    { level: 'None', userGroups: ['system:serviceaccounts:kube-system'] },
    {
      level: 'Metadata',
      userGroups: ['system:serviceaccounts'],
      verbs: ['watch'],
      omitStages: ['RequestReceived', 'ResponseComplete'],
    },
    { level: 'Metadata', userGroups: ['system:serviceaccounts'], omitStages: ['RequestReceived', 'ResponseStarted'] },
    { level: 'None' },
  ],
};

const ACCOUNT = /^system:serviceaccount:([^:]+:[^:]+)$/;
/** Matches RBAC's wording, such as `RBAC: allowed by RoleBinding "b/ns" of Role "r" to ServiceAccount "a/ns"`. */
const ALLOWED_BY = /allowed by \w+ "([^"]+)" of (\w+) "([^"]+)"/;

/**
 * Creates an audit log of the API server, with the requests of ServiceAccounts outside kube-system, and the roles that allowed
 * them.
 */
export const createAuditLog = async (): Promise<AuditLog> => {
  const directory = await createTempFolder('audit');
  const [policy, log] = [path.join(directory, 'policy.json'), path.join(directory, 'audit.log')];
  await writeFile(policy, JSON.stringify(POLICY));
  await writeFile(log, '');
  return {
    apiServerArgs: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
    read: async () => {
      const lines = (await readFile(log, 'utf8')).split('\n');
      // The last line may be incomplete.
      return lines.slice(0, -1).flatMap((line) => auditedRequest(JSON.parse(line) as AuditEvent) ?? []);
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
};

const auditedRequest = ({
  verb,
  user,
  objectRef,
  responseStatus,
  annotations = {},
}: AuditEvent): AuditedRequest | undefined => {
  const serviceAccount = ACCOUNT.exec(user.username)?.[1];
  if (serviceAccount === undefined || objectRef?.resource === undefined) return undefined;
  const { resource, subresource, apiGroup, namespace } = objectRef;
  const [, , kind, name] = ALLOWED_BY.exec(annotations['authorization.k8s.io/reason'] ?? '') ?? [];
  const place = kind === 'Role' ? `${namespace ?? ''}/${name ?? ''}` : name;
  return {
    serviceAccount,
    isAllowed: annotations['authorization.k8s.io/decision'] === 'allow',
    role: kind === undefined ? undefined : `${kind} ${place ?? ''}`,
    right: rightText(verb, subresource === undefined ? resource : `${resource}/${subresource}`, apiGroup ?? ''),
    code: responseStatus?.code,
  };
};

/** Formats `AuditedRequest.right`. */
export const rightText = (verb: string, resource: string, apiGroup: string): string =>
  `${verb} ${resource}${apiGroup === '' ? '' : `.${apiGroup}`}`;
