export { upstreamOf } from './endpoint.ts';
export { retentionInForce } from './project.ts';
export { translate, type Translation, type World } from './translate.ts';
export { Translator } from './translator.ts';
export type {
  Changes,
  Finding,
  KeyState,
  KnownKey,
  RetentionSettings,
  SecretState,
  SecretValue,
  TranslateSettings,
  Verdict,
} from './types.ts';
