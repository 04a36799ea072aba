export { EngineStartError } from './engine-process.ts';
export { ignoreInGit } from './ignore-in-git.ts';
export { startEmbeddedEngine } from './start-embedded-engine.ts';
export type { EmbeddedEngine, EmbeddedEngineOptions, EngineAddress } from './start-embedded-engine.ts';
