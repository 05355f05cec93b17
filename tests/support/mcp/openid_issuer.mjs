// An OpenID provider (npm's oidc-provider, found from the working folder) that signs everyone in as "ada". It ends with its input.
//
//     node openid_issuer.mjs PORT LIFETIME    # LIFETIME: seconds of an access token
//
// GET /seen returns the requests so far: [{path, status, form}].
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , port, lifetime] = process.argv;
const { default: Provider } = await import(
  pathToFileURL(createRequire(process.cwd() + "/").resolve("oidc-provider"))
);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (ctx, resource) => ({
        scope: "tools",
        audience: resource,
        accessTokenFormat: "jwt",
        accessTokenTTL: Number(lifetime),
      }),
      useGrantedResource: () => true,
    },
  },
  rotateRefreshToken: true,
  pkce: { required: () => true },
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
});
provider.on("server_error", (ctx, error) => console.error(error));
const seen = [];
provider.use(async (ctx, next) => {
  await next();
  if (["/reg", "/auth", "/token"].includes(ctx.path))
    seen.push({ path: ctx.path, status: ctx.status, form: ctx.oidc?.params ?? ctx.oidc?.body ?? {} });
});
http.createServer(async (request, response) => {
  try {
    if (request.url === "/seen") return response.end(JSON.stringify(seen));
    if (!request.url.startsWith("/interaction/")) return provider.callback()(request, response);
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name === "login")
      return await provider.interactionFinished(request, response, { login: { accountId: "ada" } });
    const grant = grantId
      ? await provider.Grant.find(grantId)
      : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    const { missingOIDCScope, missingResourceScopes } = prompt.details;
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
    for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {}))
      grant.addResourceScope(resource, scopes.join(" "));
    await provider.interactionFinished(
      request, response, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true },
    );
  } catch (error) {
    console.error(error);
    response.statusCode = 500;
    response.end(String(error));
  }
}).listen(Number(port), "127.0.0.1", () => console.log(issuer));
process.stdin.on("end", () => process.exit()).resume();
