import { listAll, resourcePath, type KubeClient, type KubeObject } from '@standin/kube';

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: KeyRef; readonly configMapKeyRef?: KeyRef };
}

interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

interface FileSource {
  /** Of a volume. */
  readonly secretName?: string;
  /** Of a ConfigMap, of a part of a projected volume, or of a source of variables. */
  readonly name?: string;
  readonly items?: readonly { readonly key: string }[];
  readonly optional?: boolean;
}

interface VolumeSource {
  readonly secret?: FileSource;
  readonly configMap?: FileSource;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly { readonly secretRef?: FileSource; readonly configMapRef?: FileSource }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
}

interface PodSpec {
  readonly serviceAccountName?: string;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly (VolumeSource & {
    readonly name: string;
    readonly projected?: { readonly sources: readonly VolumeSource[] };
  })[];
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A Deployment or StatefulSet. */
type Workload = KubeObject & {
  readonly spec: { readonly replicas?: number; readonly template: { readonly spec: PodSpec } };
  readonly status?: { readonly readyReplicas?: number; readonly conditions?: readonly Condition[] };
};

export type Pod = KubeObject & {
  readonly spec: PodSpec;
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly {
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
      readonly lastState?: { readonly terminated?: { readonly reason?: string; readonly exitCode?: number } };
    }[];
  };
};

/** A component of Standin with its pods. */
export interface Component {
  /** `operator`, `gateway`, `dashboard` or `clickhouse`. */
  readonly name: string;
  readonly kind: 'Deployment' | 'StatefulSet';
  readonly workload: Workload;
  readonly pods: readonly Pod[];
}

/** The objects of an installation in its namespace. */
export interface Installation {
  readonly namespace: string;
  readonly components: readonly Component[];
  readonly services: readonly string[];
}

const COMPONENT = 'app.kubernetes.io/component';
const INSTANCE = 'app.kubernetes.io/instance';
const PART = { labelSelector: 'app.kubernetes.io/part-of=standin' };

/** Reads the installation. Rejects with `ApiError`, for example if this user must not list Deployments. */
export const readInstallation = async (client: KubeClient, namespace: string): Promise<Installation> => {
  const list = <T extends KubeObject>(group: string, plural: string, query = {}) =>
    listAll<T>(client, resourcePath({ group, version: 'v1', plural, namespace }), { query }).then(({ items }) => items);
  const [deployments, statefulSets, pods, services] = await Promise.all([
    list<Workload>('apps', 'deployments', PART),
    list<Workload>('apps', 'statefulsets', PART),
    list<Pod>('', 'pods', { labelSelector: COMPONENT }),
    list('', 'services', PART),
  ]);
  const component =
    (kind: Component['kind']) =>
    (workload: Workload): Component => {
      const { labels = {} } = workload.metadata;
      // Pods of Jobs, such as those that drain a volume, have the labels of another component.
      const own = pods.filter(({ metadata }) =>
        ([COMPONENT, INSTANCE] as const).every((label) => metadata.labels?.[label] === labels[label]),
      );
      return { name: labels[COMPONENT] ?? workload.metadata.name, kind, workload, pods: own };
    };
  return {
    namespace,
    components: [...deployments.map(component('Deployment')), ...statefulSets.map(component('StatefulSet'))],
    services: services.map(({ metadata }) => metadata.name),
  };
};

export const findComponent = ({ components }: Installation, name: string): Component | undefined =>
  components.find((component) => component.name === name);

/** The value of a variable of the component's own container. */
export const environmentVariable = (component: Component | undefined, name: string): string | undefined =>
  component?.workload.spec.template.spec.containers
    .flatMap(({ env = [] }) => env)
    .find((variable) => variable.name === name)?.value;
