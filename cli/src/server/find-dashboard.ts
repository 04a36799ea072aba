import { ApiError, listAll, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';
import { isPodReady, type PodPort } from '@standin/kube/pod-connection';
import { PlainError } from '../plain-error.ts';

type Pod = KubeObject & {
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
};

const LABELS = 'app.kubernetes.io/component=dashboard';
/** Only Standin's dashboard has this variable. Other programs may have the same label. */
const OWN_VARIABLE = 'STANDIN_SERVICE';

/** A pod of the dashboard. */
interface Dashboard extends PodPort {
  /** The URL at which browsers reach the dashboard, if the chart knows it. */
  readonly publicUrl: string | undefined;
}

const dashboardIn = ({ metadata, spec }: Pod): Omit<Dashboard, 'namespace'> | undefined => {
  const own = spec.containers.find(({ env = [] }) => env.some(({ name }) => name === OWN_VARIABLE));
  const port = own?.ports?.find(({ name }) => name === 'http')?.containerPort;
  if (port === undefined) return undefined;
  const publicUrl = own?.env?.find(({ name }) => name === 'STANDIN_URL')?.value;
  return { pod: metadata.name, port, publicUrl };
};

/** Finds a ready pod of the dashboard. Rejects with a `PlainError` if there is none, or if this user must not list pods. */
export const findDashboard = async (client: KubeClient, namespace: string): Promise<Dashboard> => {
  const path = resourcePath({ group: '', version: 'v1', plural: 'pods', namespace });
  const { items } = await listAll<Pod>(client, path, { query: { labelSelector: LABELS } }).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    throw new PlainError(
      `${error.message}: ask for the Role in docs/guides/kubectl.md, or use the URL of the dashboard with --server`,
      { cause: error },
    );
  });
  const dashboards = items.flatMap((pod) => {
    const dashboard = dashboardIn(pod);
    return dashboard === undefined ? [] : [{ ...dashboard, namespace, isReady: isPodReady(pod) }];
  });
  const found = dashboards.find((dashboard) => dashboard.isReady);
  if (found !== undefined) return found;
  throw new PlainError(
    dashboards.length === 0
      ? `namespace ${namespace} has no pod of the dashboard: name Standin's namespace with --system-namespace, or use the URL of a dashboard with --server`
      : `no pod of the dashboard in namespace ${namespace} is ready: kubectl standin check shows why`,
  );
};
