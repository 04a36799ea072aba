export type { Claim, Holder, Holders } from './claims.ts';
export { forwardConfig } from './endpoint.ts';
export { retentionInForce } from './project.ts';
export { isPrefixClaim } from './reservations.ts';
export { isTrusted } from './services.ts';
export { translate, type Translation, type World } from './translate.ts';
export { Translator } from './translator.ts';
export type {
  Changes,
  Finding,
  KeyState,
  KnownKey,
  RetentionSettings,
  SecretFormat,
  SecretState,
  SecretValue,
  TranslateSettings,
  Verdict,
} from './types.ts';
