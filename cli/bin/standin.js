#!/usr/bin/env node
import process from 'node:process';
import { runMain } from './run-main.js';

await runMain(process.argv.slice(2));
