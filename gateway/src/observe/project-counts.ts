import { LIMITS, type ProjectConfig, type RejectionCode } from '@standin/contract';
import { Counter, type Registry } from 'prom-client';
import { DurationCounts, exposeDurations } from './duration-histogram.ts';

export const STATUS_CLASSES = ['', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;

interface Counts {
  /** Responses by the index of `STATUS_CLASSES`. */
  readonly statusCounts: Float64Array;
  readonly durations: DurationCounts;
  readonly rejections: Map<RejectionCode, number>;
}

type Labels = Readonly<Record<string, string>>;

/** The active projects. */
export interface ActiveProjects {
  project(uid: string): ProjectConfig | undefined;
  /** Returns whether the project has counts of its own. */
  hasMetrics(project: ProjectConfig): boolean;
}

/**
 * Counts the requests of the projects with `spec.metrics: Enabled`, each separately, up to `LIMITS.projectSeriesMax` projects (see
 * `RoutingTable.hasMetrics`). When a project no longer has metrics, its counts are dropped at the next scrape.
 */
export class ProjectCounts {
  /** The counts by the uid of the project. */
  readonly #counts = new Map<string, Counts>();
  #projects: ActiveProjects = { project: () => undefined, hasMetrics: () => false };
  #uncounted = 0;

  /** @param statusClass the index in `STATUS_CLASSES` */
  responded(project: ProjectConfig, statusClass: number, seconds: number): void {
    if (project.metrics === undefined) return;
    const counts = this.#findOrAddCounts(project);
    if (counts === undefined) return;
    counts.statusCounts[statusClass] = (counts.statusCounts[statusClass] ?? 0) + 1;
    counts.durations.add(seconds);
  }

  refused(project: ProjectConfig, code: RejectionCode): void {
    if (project.metrics === undefined) return;
    const rejections = this.#findOrAddCounts(project)?.rejections;
    rejections?.set(code, (rejections.get(code) ?? 0) + 1);
  }

  /** Adds the metrics to the registry. Without a call, nothing is counted. */
  expose(registry: Registry, projects: ActiveProjects): void {
    this.#projects = projects;
    const registers = [registry];
    const active = (): readonly (readonly [Labels, Counts])[] => this.#active();
    const uncounted = (): number => this.#uncounted;
    new Counter({
      name: 'standin_respond_project_requests_total',
      help: 'Accepted requests, by the class of the status that callers got, for Projects with spec.metrics: Enabled.',
      labelNames: ['exported_namespace', 'project', 'status'],
      registers,
      collect() {
        this.reset();
        for (const [labels, { statusCounts }] of active()) {
          for (const [index, count] of statusCounts.entries()) {
            if (count > 0) this.inc({ ...labels, status: STATUS_CLASSES[index] ?? '' }, count);
          }
        }
      },
    });
    new Counter({
      name: 'standin_receive_project_rejections_total',
      help: 'Rejected requests to the URI of a Project, by code (docs/reference/errors.md), for Projects with spec.metrics: Enabled.',
      labelNames: ['exported_namespace', 'project', 'code'],
      registers,
      collect() {
        this.reset();
        for (const [labels, { rejections }] of active()) {
          for (const [code, count] of rejections) this.inc({ ...labels, code }, count);
        }
      },
    });
    new Counter({
      name: 'standin_observe_uncounted_requests_total',
      help: 'Requests to Projects with spec.metrics: Enabled without metrics of their own, because they are beyond the limit of their namespace.',
      registers,
      collect() {
        this.reset();
        this.inc(uncounted());
      },
    });
    exposeDurations(registry, {
      name: 'standin_respond_project_duration_seconds',
      help: 'The time of standin_respond_duration_seconds, for Projects with spec.metrics: Enabled.',
      read: () => active().map(([labels, { durations }]) => [labels, durations]),
    });
  }

  /** Returns undefined, and counts the request as uncounted, if the project is beyond the limit. */
  #findOrAddCounts(project: ProjectConfig): Counts | undefined {
    const { uid } = project;
    if (!this.#projects.hasMetrics(project)) {
      this.#uncounted += 1;
      return undefined;
    }
    const known = this.#counts.get(uid);
    if (known !== undefined) return known;
    // Without a scrape, those that are no longer counted would stay.
    if (this.#counts.size >= LIMITS.projectSeriesMax) this.#active();
    const counts = {
      statusCounts: new Float64Array(STATUS_CLASSES.length),
      durations: new DurationCounts(),
      rejections: new Map(),
    };
    this.#counts.set(uid, counts);
    return counts;
  }

  /** Returns the labels and the counts of the projects that still have metrics, and forgets the others. */
  #active(): readonly (readonly [Labels, Counts])[] {
    return [...this.#counts].flatMap(([uid, counts]) => {
      const project = this.#projects.project(uid);
      if (project !== undefined && this.#projects.hasMetrics(project))
        return [[{ exported_namespace: project.namespace, project: project.name }, counts]];
      this.#counts.delete(uid);
      return [];
    });
  }
}
