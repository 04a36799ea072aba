import type { ConditionType, Kind } from '@standin/contract';
import type { z } from 'zod';
import type { Rule, TransitionRule } from './rules.ts';

/** A column of `kubectl get`. Columns with priority 1 appear only with `-o wide`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly priority?: 1;
}

/** The source of truth for one kind. The kind's parser and CustomResourceDefinition are derived from this definition. */
export interface KindDefinition<Spec extends z.ZodType = z.ZodType, Status extends z.ZodType = z.ZodType> {
  readonly kind: Kind;
  /** The text that `kubectl explain` shows. */
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  /** The initial conditions: `Reconciling` is True, and all others are Unknown. Default: the conditions of served kinds. */
  readonly conditions?: readonly ConditionType[];
  /** Rules for the object's name. */
  readonly nameRules: readonly Rule<string>[];
  /** Rules for changes to `spec`. */
  readonly transitions: readonly TransitionRule<z.output<Spec>>[];
  readonly printerColumns: readonly PrinterColumn[];
  /** The fields for `kubectl get --field-selector`. */
  readonly selectableFields: readonly string[];
}

const ofCondition = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;

/** The Ready condition and its reason. */
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

/** A definition of any kind, limited to the properties that can be used without knowing the kind. */
export type AnyKindDefinition = Omit<KindDefinition, 'transitions'> & {
  readonly transitions: readonly TransitionRule<never>[];
};

/** Returns the definition unchanged, with `Spec` and `Status` inferred. */
export const defineKind = <Spec extends z.ZodType, Status extends z.ZodType>(
  definition: KindDefinition<Spec, Status>,
): KindDefinition<Spec, Status> => definition;
