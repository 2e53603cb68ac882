// Writes the methods of all operations from the OpenAPI document: operation `links.end` becomes `client.links.end(...)`.
import { readFileSync, writeFileSync } from "node:fs";

const [source, target] = process.argv.slice(2);
const api = JSON.parse(readFileSync(source, "utf8"));
const groups = new Map();

for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const [group, name] = operation.operationId.split(".");
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(methodOf(path, method.toUpperCase(), name, operation));
  }
}
const names = [...groups.keys()];
writeFileSync(
  target,
  `// Written by scripts/operations.mjs from the OpenAPI document.
import type { Transport } from "../transport.js";
import type { Input, Item, Options, Result } from "../types.js";

class Group {
  constructor(protected readonly transport: Transport) {}
}

${names.map((group) => `export class ${pascal(group)} extends Group {\n${groups.get(group).join("\n\n")}\n}\n`).join("\n")}
export class Operations {
${names.map((group) => `  readonly ${camel(group)}: ${pascal(group)};`).join("\n")}

  constructor(protected readonly transport: Transport) {
${names.map((group) => `    this.${camel(group)} = new ${pascal(group)}(transport);`).join("\n")}
  }
}
`,
);

function methodOf(path, method, name, operation) {
  const id = JSON.stringify(operation.operationId);
  const [places, query, headers] = ["path", "query", "header"].map((place) =>
    (operation.parameters ?? []).filter((parameter) => parameter.in === place),
  );
  const content = operation.requestBody?.content ?? {};
  const body = "multipart/form-data" in content ? "form" : "application/json" in content ? "json" : null;
  const isNeeded = query.some((one) => one.required) || needed(Object.values(content)[0]?.schema).length > 0;
  const list = method === "GET" && query.some((one) => one.name === "cursor") ? listOf(operation) : null;
  const isRepeatable =
    method !== "POST" || operation["x-changes-nothing"] || headers.some((one) => one.name === "Idempotency-Key");

  const given = places.map((one) => `${camel(one.name)}: string, `).join("");
  const input = query.length || body ? `input: Input<${id}>${isNeeded ? "" : " = {}"}, ` : "";
  const call = [`method: "${method}"`, `path: ${filled(path)}`];
  if (body && query.length) call.push(`query: ${JSON.stringify(query.map((one) => one.name))}`);
  if (body) call.push(`body: "${body}"`);
  if (!isRepeatable) call.push("isOnce: true");
  if (headers.some((one) => one.name === "Idempotency-Key")) call.push("isChange: true");
  const send = list ? `list<Item<${id}, "${list}">>` : isJson(operation) ? `json<Result<${id}>>` : "raw";
  const result = list ? `AsyncGenerator<Item<${id}, "${list}">>` : `Promise<${isJson(operation) ? `Result<${id}>` : "Response"}>`;
  const tail = list ? `, "${list}"` : "";
  return `  /** ${operation.description.replaceAll("*/", "* /").replaceAll("\n", "\n   * ")} */
  ${camel(name)}(${given}${input}options: Options = {}): ${result} {
    return this.transport.${send}({ ${call.join(", ")} }, ${input ? "input" : "{}"}, options${tail});
  }`;
}

/** The one array of a page; null if an answer has several. */
function listOf(operation) {
  const page = resolved(operation.responses["200"].content["application/json"].schema);
  const arrays = Object.entries(page.properties).filter(([, value]) => value.type === "array");
  return arrays.length === 1 ? arrays[0][0] : null;
}

function isJson(operation) {
  const answers = Object.entries(operation.responses).filter(([status]) => status < "300");
  return answers.every(([, answer]) => Object.keys(answer.content ?? {}).every((type) => type === "application/json"));
}

function needed(schema) {
  return schema ? (resolved(schema).required ?? []) : [];
}

function resolved(schema) {
  return schema.$ref ? api.components.schemas[schema.$ref.split("/").at(-1)] : schema;
}

function filled(path) {
  return path.includes("{") ? `\`${path.replace(/\{(\w+)\}/g, (_, name) => `\${encodeURIComponent(${camel(name)})}`)}\`` : `"${path}"`;
}

function camel(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

function pascal(name) {
  return camel(`_${name}`);
}
