import type { ConditionType, Kind } from '@standin/contract';
import type { z } from 'zod';
import type { Rule, TransitionRule } from './rules.ts';

/** A column of `kubectl get`; those with priority 1 show with `-o wide` only. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly priority?: 1;
}

/** The source of truth of one kind: its parser and its CustomResourceDefinition are made from it. */
export interface KindDefinition<Spec extends z.ZodType = z.ZodType, Status extends z.ZodType = z.ZodType> {
  readonly kind: Kind;
  /** What `kubectl explain` says. */
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  /** The conditions that it has from the start, Unknown. Default: those of what is served. */
  readonly conditions?: readonly ConditionType[];
  /** About the name of the object. */
  readonly nameRules: readonly Rule<string>[];
  /** About changes of `spec`. */
  readonly transitions: readonly TransitionRule<z.output<Spec>>[];
  readonly printerColumns: readonly PrinterColumn[];
  /** For `kubectl get --field-selector`. */
  readonly selectableFields: readonly string[];
}

const ofCondition = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;

/** Ready and why not; every kind has them. */
export const READY_COLUMNS: readonly PrinterColumn[] = [
  { name: 'Ready', type: 'string', jsonPath: ofCondition('status') },
  { name: 'Reason', type: 'string', jsonPath: ofCondition('reason') },
];
export const AGE_COLUMN: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
export const MESSAGE_COLUMN: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: ofCondition('message'),
  priority: 1,
};

/** Any kind's, as far as it can be used without knowing which. */
export type AnyKindDefinition = Omit<KindDefinition, 'transitions'> & {
  readonly transitions: readonly TransitionRule<never>[];
};

/** Infers `Spec` and `Status`. */
export const defineKind = <Spec extends z.ZodType, Status extends z.ZodType>(
  definition: KindDefinition<Spec, Status>,
): KindDefinition<Spec, Status> => definition;
