BEGIN TRANSACTION;
CREATE TABLE `credential` (
          `id` text PRIMARY KEY,
          `integration_id` text,
          `label` text NOT NULL,
          `value` text NOT NULL,
          `connector_id` text,
          `method_id` text,
          `active` integer,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL
        );
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `permission` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `action` text NOT NULL,
          `resource` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `fk_permission_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `project` (
          `id` text PRIMARY KEY,
          `worktree` text NOT NULL,
          `vcs` text,
          `name` text,
          `icon_url` text,
          `icon_url_override` text,
          `icon_color` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_initialized` integer,
          `sandboxes` text NOT NULL,
          `commands` text
        );
INSERT INTO "project" VALUES('6c1c6186da41da6fa23b79898442756142c277fb','/home/example/project','git',NULL,NULL,NULL,NULL,1795485435164,1795485435164,NULL,'[]',NULL);
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_df4ba7f87ffeyDN3g3hz4BuKOk','6c1c6186da41da6fa23b79898442756142c277fb',NULL,NULL,'cosmic-star','/home/example/project','','New session - 2026-11-24T01:57:15.170Z','1.18.18',NULL,NULL,NULL,NULL,NULL,NULL,0.0,0,0,0,0,0,NULL,NULL,'plan','{"id":"fake-1","providerID":"fake","variant":"high"}',1795485435170,1795485504140,NULL,NULL);
INSERT INTO "session" VALUES('ses_df4b95da9ffe45gZwL32m0rNfX','6c1c6186da41da6fa23b79898442756142c277fb',NULL,NULL,'kind-wolf','/home/example/project/sub','sub','New session - 2026-11-24T01:58:28.228Z','1.18.18',NULL,NULL,NULL,NULL,NULL,NULL,0.0,0,0,0,0,0,NULL,NULL,NULL,'{"id":"fake-1","providerID":"fake"}',1795485508228,1795485508228,NULL,NULL);
INSERT INTO "session" VALUES('ses_df4b93009ffeeWleOzxp2YykH4','6c1c6186da41da6fa23b79898442756142c277fb',NULL,NULL,'hidden-wolf','/home/example/project','','New session - 2026-11-24T01:58:39.913Z','1.18.18',NULL,NULL,NULL,NULL,NULL,NULL,0.0,0,0,0,0,0,NULL,NULL,NULL,'{"id":"fake-1","providerID":"fake"}',1795485519913,1795485519913,NULL,NULL);
CREATE TABLE `session_input` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `prompt` text NOT NULL,
          `delivery` text NOT NULL,
          `admitted_seq` integer NOT NULL,
          `promoted_seq` integer,
          `time_created` integer NOT NULL,
          CONSTRAINT `fk_session_input_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session_input" VALUES('msg_20b45b3d9001MezexbjEpHKbnL','ses_df4ba7f87ffeyDN3g3hz4BuKOk','{"text":"greet <<words 5>> <<reason because>>"}','steer',1,2,1795485447131);
INSERT INTO "session_input" VALUES('msg_20b45d123001NbW8r7QYWQn8DJ','ses_df4ba7f87ffeyDN3g3hz4BuKOk','{"text":"<<tool write {\"path\":\"d.txt\",\"content\":\"1\\n2\\n\"}>> <<tool edit {\"path\":\"d.txt\",\"oldString\":\"1\",\"newString\":\"one\"}>> <<tool read {\"path\":\"d.txt\"}>>"}','steer',9,10,1795485454645);
INSERT INTO "session_input" VALUES('msg_20b461bc1001ENyeVHgo9RZyo7','ses_df4ba7f87ffeyDN3g3hz4BuKOk','{"text":"<<tool bash {\"command\":\"echo from bash\"}>> <<tool todowrite {\"todos\":[{\"content\":\"first\",\"status\":\"pending\",\"priority\":\"high\"}]}>> <<tool read {\"path\":\"nope.txt\"}>>"}','steer',39,40,1795485473757);
INSERT INTO "session_input" VALUES('msg_20b465e3c001br2hrNLtcet3jK','ses_df4ba7f87ffeyDN3g3hz4BuKOk','{"text":"long <<slow 100>> <<words 60>>"}','steer',69,70,1795485490754);
INSERT INTO "session_input" VALUES('msg_20b466be6001s75Pfa199UMuo6','ses_df4ba7f87ffeyDN3g3hz4BuKOk','{"text":"queued behind"}','queue',73,82,1795485494329);
INSERT INTO "session_input" VALUES('msg_20b466d49001WTkADQiSzZpoTK','ses_df4ba7f87ffeyDN3g3hz4BuKOk','{"text":"steered in"}','steer',74,77,1795485494602);
INSERT INTO "session_input" VALUES('msg_20b46929c001euErtIPqWEPV4u','ses_df4ba7f87ffeyDN3g3hz4BuKOk','{"text":"in plan <<words 2>>"}','steer',89,90,1795485504156);
INSERT INTO "session_input" VALUES('msg_20b46aa24001WRBMui92xXgGfl','ses_df4b95da9ffe45gZwL32m0rNfX','{"text":"below <<tool write {\"path\":\"in_sub.txt\",\"content\":\"1\\n\"}>>"}','steer',1,2,1795485510181);
INSERT INTO "session_input" VALUES('msg_20b46bbf4001zypRSeqCC3icg1','ses_df4b95da9ffe45gZwL32m0rNfX','{"text":"broken <<error 400 no good>>"}','steer',15,16,1795485514753);
INSERT INTO "session_input" VALUES('msg_20b46c67d001IKsWBKHEgiSJ0l','ses_df4b95da9ffe45gZwL32m0rNfX','{"text":"see @sub and file","files":[{"uri":"data:text/plain;base64,aGVsbG8=","mime":"text/plain","name":"note.txt","source":{"start":4,"end":8,"text":"@sub"}}],"agents":[{"name":"general","source":{"start":4,"end":8,"text":"@sub"}}]}','steer',19,20,1795485517438);
INSERT INTO "session_input" VALUES('msg_20b46d036001RMoP7giXB736wE','ses_df4b93009ffeeWleOzxp2YykH4','{"text":"interrupted <<slow 200>> <<words 80>>"}','steer',1,2,1795485519927);
INSERT INTO "session_input" VALUES('msg_20b46e3de001Ixv2u7DpNkreOq','ses_df4b93009ffeeWleOzxp2YykH4','{"text":"never read"}','queue',5,NULL,1795485524959);
CREATE TABLE `session_message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `type` text NOT NULL,
          `seq` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_session_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session_message" VALUES('msg_20b45b3d9001MezexbjEpHKbnL','ses_df4ba7f87ffeyDN3g3hz4BuKOk','user',2,1795485447131,1795485447549,'{"time":{"created":1795485447131},"text":"greet <<words 5>> <<reason because>>"}');
INSERT INTO "session_message" VALUES('msg_20b45c647001xwfTa6loCmNaQ4','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',3,1795485451847,1795485452947,'{"time":{"created":1795485451847,"completed":1795485452915},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"reasoning","id":"reasoning-0","text":"because","time":{"created":1795485451879,"completed":1795485452142}},{"type":"text","id":"text-0","text":"word1 word2 word3 word4 word5"}],"snapshot":{"start":"efd9c71a97cb5bb6c9e505a2d33097a2239cceb7","end":"efd9c71a97cb5bb6c9e505a2d33097a2239cceb7","files":[]},"finish":"stop","cost":0,"tokens":{"input":285,"output":7,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b45d123001NbW8r7QYWQn8DJ','ses_df4ba7f87ffeyDN3g3hz4BuKOk','user',10,1795485454645,1795485454787,'{"time":{"created":1795485454645},"text":"<<tool write {\"path\":\"d.txt\",\"content\":\"1\\n2\\n\"}>> <<tool edit {\"path\":\"d.txt\",\"oldString\":\"1\",\"newString\":\"one\"}>> <<tool read {\"path\":\"d.txt\"}>>"}');
INSERT INTO "session_message" VALUES('msg_20b45e3e3001TwchmOp6C19JNf','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',11,1795485459427,1795485461184,'{"time":{"created":1795485459427,"completed":1795485461174},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling write. "},{"type":"tool","id":"call_1795485459347206238_0","name":"write","provider":{"executed":false},"state":{"status":"completed","input":{"path":"d.txt","content":"1\n2\n"},"content":[{"type":"text","text":"Created file successfully: d.txt"}],"outputPaths":[],"structured":{"operation":"write","target":"/home/example/project/d.txt","resource":"d.txt","existed":false}},"time":{"created":1795485459748,"ran":1795485459820,"completed":1795485460129}}],"snapshot":{"start":"efd9c71a97cb5bb6c9e505a2d33097a2239cceb7","end":"a2040e7a76c2f7cf32926c7619ad9c29418ba938","files":["d.txt"]},"finish":"tool-calls","cost":0,"tokens":{"input":328,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b45f81d001WRHA4AW5qzE3zx','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',19,1795485464605,1795485466077,'{"time":{"created":1795485464605,"completed":1795485466062},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling edit. "},{"type":"tool","id":"call_1795485464529799612_0","name":"edit","provider":{"executed":false},"state":{"status":"completed","input":{"path":"d.txt","oldString":"1","newString":"one"},"content":[{"type":"text","text":"Edited file successfully: d.txt\nReplacements: 1\n```diff\n-1\n+one\n```"}],"outputPaths":[],"structured":{"files":[{"file":"d.txt","patch":"Index: d.txt\n===================================================================\n--- d.txt\n+++ d.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n","additions":1,"deletions":1,"status":"modified"}],"replacements":1}},"time":{"created":1795485464887,"ran":1795485464957,"completed":1795485465283}}],"snapshot":{"start":"a2040e7a76c2f7cf32926c7619ad9c29418ba938","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":["d.txt"]},"finish":"tool-calls","cost":0,"tokens":{"input":340,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b4606c6001tmc7tjTDQarBiC','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',27,1795485468358,1795485469386,'{"time":{"created":1795485468358,"completed":1795485469370},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling read. "},{"type":"tool","id":"call_1795485468268253527_0","name":"read","provider":{"executed":false},"state":{"status":"completed","input":{"path":"d.txt"},"content":[],"outputPaths":[],"structured":{"uri":"file:///home/example/project/d.txt","name":"d.txt","content":"one\n2\n","encoding":"utf8","mime":"text/plain"}},"time":{"created":1795485468630,"ran":1795485468730,"completed":1795485468982}}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"tool-calls","cost":0,"tokens":{"input":360,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b4613e90012ZcbTyIELCOjEJ','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',35,1795485471721,1795485472124,'{"time":{"created":1795485471721,"completed":1795485472109},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Done:  | tool: {\"uri\":\"file:///home/example/project/d.txt\",\"name\":\"d.txt\",\"content"}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"stop","cost":0,"tokens":{"input":392,"output":18,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b461bc1001ENyeVHgo9RZyo7','ses_df4ba7f87ffeyDN3g3hz4BuKOk','user',40,1795485473757,1795485473835,'{"time":{"created":1795485473757},"text":"<<tool bash {\"command\":\"echo from bash\"}>> <<tool todowrite {\"todos\":[{\"content\":\"first\",\"status\":\"pending\",\"priority\":\"high\"}]}>> <<tool read {\"path\":\"nope.txt\"}>>"}');
INSERT INTO "session_message" VALUES('msg_20b462757001Rr1GSk8tHRsiVE','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',41,1795485476695,1795485478486,'{"time":{"created":1795485476695,"completed":1795485478478},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling bash. "},{"type":"tool","id":"call_1795485476654083959_0","name":"bash","provider":{"executed":false},"state":{"status":"completed","input":{"command":"echo from bash"},"content":[{"type":"text","text":"from bash\n"},{"type":"text","text":"Command exited with code 0."}],"outputPaths":[],"structured":{"exit":0,"truncated":false}},"time":{"created":1795485477368,"ran":1795485477537,"completed":1795485478284}}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"tool-calls","cost":0,"tokens":{"input":451,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b4637660011374uRYvey7nJO','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',49,1795485480806,1795485481991,'{"time":{"created":1795485480806,"completed":1795485481988},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling todowrite. "},{"type":"tool","id":"call_1795485480765976179_0","name":"todowrite","provider":{"executed":false},"state":{"status":"completed","input":{"todos":[{"content":"first","status":"pending","priority":"high"}]},"content":[{"type":"text","text":"[\n  {\n    \"content\": \"first\",\n    \"status\": \"pending\",\n    \"priority\": \"high\"\n  }\n]"}],"outputPaths":[],"structured":{"todos":[{"content":"first","status":"pending","priority":"high"}]}},"time":{"created":1795485481313,"ran":1795485481352,"completed":1795485481439}}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"tool-calls","cost":0,"tokens":{"input":464,"output":4,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b46435e001ePanNJBJqtxWMi','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',57,1795485483870,1795485485266,'{"time":{"created":1795485483870,"completed":1795485485226},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling read. "},{"type":"tool","id":"call_1795485483829809269_0","name":"read","provider":{"executed":false},"state":{"status":"error","input":{"path":"nope.txt"},"content":[],"structured":{},"error":{"type":"unknown","message":"Unable to read nope.txt"},"result":{"type":"error","value":"Unable to read nope.txt"}},"time":{"created":1795485484377,"ran":1795485484436,"completed":1795485484766}}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"tool-calls","cost":0,"tokens":{"input":490,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b464ebd001R8hfmLCllEnx3X','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',65,1795485486781,1795485487274,'{"time":{"created":1795485486781,"completed":1795485487268},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Done:  | tool: {\"error\":{\"type\":\"unknown\",\"message\":\"Unable to read nope.tx"}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"stop","cost":0,"tokens":{"input":517,"output":18,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b465e3c001br2hrNLtcet3jK','ses_df4ba7f87ffeyDN3g3hz4BuKOk','user',70,1795485490754,1795485491188,'{"time":{"created":1795485490754},"text":"long <<slow 100>> <<words 60>>"}');
INSERT INTO "session_message" VALUES('msg_20b4666fd0011juz0P5r2TLuHh','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',71,1795485492989,1795485499501,'{"time":{"created":1795485492989,"completed":1795485499473},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36 word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48 word49 word50 word51 word52 word53 word54 word55 word56 word57 word58 word59 word60"}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"stop","cost":0,"tokens":{"input":543,"output":102,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b466d49001WTkADQiSzZpoTK','ses_df4ba7f87ffeyDN3g3hz4BuKOk','user',77,1795485494602,1795485499546,'{"time":{"created":1795485494602},"text":"steered in"}');
INSERT INTO "session_message" VALUES('msg_20b4685ce0015Pb7s81WLdkFmm','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',78,1795485500878,1795485501036,'{"time":{"created":1795485500878,"completed":1795485501033},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Echo: steered in"}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"stop","cost":0,"tokens":{"input":648,"output":4,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b466be6001s75Pfa199UMuo6','ses_df4ba7f87ffeyDN3g3hz4BuKOk','user',82,1795485494329,1795485501056,'{"time":{"created":1795485494329},"text":"queued behind"}');
INSERT INTO "session_message" VALUES('msg_20b468af7001EtkC27NxrdFrE5','ses_df4ba7f87ffeyDN3g3hz4BuKOk','assistant',83,1795485502199,1795485502533,'{"time":{"created":1795485502199,"completed":1795485502530},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Echo: queued behind"}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"b1857022d2fa16a6f41274d128244e02e40df5f3","files":[]},"finish":"stop","cost":0,"tokens":{"input":655,"output":4,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b469272001ErcUv5DM6mM4yT','ses_df4ba7f87ffeyDN3g3hz4BuKOk','agent-switched',87,1795485504114,1795485504116,'{"time":{"created":1795485504114},"agent":"plan"}');
INSERT INTO "session_message" VALUES('msg_20b46928c001xSUQoMAAjixRyc','ses_df4ba7f87ffeyDN3g3hz4BuKOk','model-switched',88,1795485504140,1795485504147,'{"time":{"created":1795485504140},"model":{"id":"fake-1","providerID":"fake","variant":"high"}}');
INSERT INTO "session_message" VALUES('msg_20b46929c001euErtIPqWEPV4u','ses_df4ba7f87ffeyDN3g3hz4BuKOk','user',90,1795485504156,1795485504207,'{"time":{"created":1795485504156},"text":"in plan <<words 2>>"}');
INSERT INTO "session_message" VALUES('msg_20b46aa24001WRBMui92xXgGfl','ses_df4b95da9ffe45gZwL32m0rNfX','user',2,1795485510181,1795485510287,'{"time":{"created":1795485510181},"text":"below <<tool write {\"path\":\"in_sub.txt\",\"content\":\"1\\n\"}>>"}');
INSERT INTO "session_message" VALUES('msg_20b46aeab001Z2vp4G8oiLBUP1','ses_df4b95da9ffe45gZwL32m0rNfX','assistant',3,1795485511339,1795485511772,'{"time":{"created":1795485511339,"completed":1795485511755},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Calling write. "},{"type":"tool","id":"call_1795485511258522901_0","name":"write","provider":{"executed":false},"state":{"status":"completed","input":{"path":"in_sub.txt","content":"1\n"},"content":[{"type":"text","text":"Created file successfully: in_sub.txt"}],"outputPaths":[],"structured":{"operation":"write","target":"/home/example/project/sub/in_sub.txt","resource":"in_sub.txt","existed":false}},"time":{"created":1795485511562,"ran":1795485511576,"completed":1795485511603}}],"snapshot":{"start":"b1857022d2fa16a6f41274d128244e02e40df5f3","end":"f0c9efbb35f841a55cbaf26860b3845a1593c806","files":["sub/in_sub.txt"]},"finish":"tool-calls","cost":0,"tokens":{"input":291,"output":3,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b46b4a3001xdz4LBxQ3UMMaP','ses_df4b95da9ffe45gZwL32m0rNfX','assistant',11,1795485512867,1795485513166,'{"time":{"created":1795485512867,"completed":1795485513162},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"Done: below | tool: Created file successfully: in_sub.txt"}],"snapshot":{"start":"f0c9efbb35f841a55cbaf26860b3845a1593c806","end":"f0c9efbb35f841a55cbaf26860b3845a1593c806","files":[]},"finish":"stop","cost":0,"tokens":{"input":304,"output":14,"reasoning":0,"cache":{"read":0,"write":0}}}');
INSERT INTO "session_message" VALUES('msg_20b46bbf4001zypRSeqCC3icg1','ses_df4b95da9ffe45gZwL32m0rNfX','user',16,1795485514753,1795485514802,'{"time":{"created":1795485514753},"text":"broken <<error 400 no good>>"}');
INSERT INTO "session_message" VALUES('msg_20b46c08a001mbNE6IKwt9cigt','ses_df4b95da9ffe45gZwL32m0rNfX','assistant',17,1795485515914,1795485515923,'{"time":{"created":1795485515914,"completed":1795485515917},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[],"snapshot":{"start":"f0c9efbb35f841a55cbaf26860b3845a1593c806"},"finish":"error","error":{"type":"unknown","message":"Provider request failed with HTTP 400: {\"error\": {\"message\": \"no good\", \"type\": \"scripted\", \"code\": \"scripted\"}}"}}');
INSERT INTO "session_message" VALUES('msg_20b46c67d001IKsWBKHEgiSJ0l','ses_df4b95da9ffe45gZwL32m0rNfX','user',20,1795485517438,1795485517452,'{"time":{"created":1795485517438},"text":"see @sub and file","files":[{"uri":"data:text/plain;base64,aGVsbG8=","mime":"text/plain","name":"note.txt","source":{"start":4,"end":8,"text":"@sub"}}],"agents":[{"name":"general","source":{"start":4,"end":8,"text":"@sub"}}]}');
INSERT INTO "session_message" VALUES('msg_20b46c9b3001ueoBaM41tC6EeB','ses_df4b95da9ffe45gZwL32m0rNfX','assistant',21,1795485518259,1795485518269,'{"time":{"created":1795485518259,"completed":1795485518264},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[],"snapshot":{"start":"f0c9efbb35f841a55cbaf26860b3845a1593c806"},"finish":"error","error":{"type":"unknown","message":"OpenAI Chat does not support media type text/plain"}}');
INSERT INTO "session_message" VALUES('msg_20b46d036001RMoP7giXB736wE','ses_df4b93009ffeeWleOzxp2YykH4','user',2,1795485519927,1795485519936,'{"time":{"created":1795485519927},"text":"interrupted <<slow 200>> <<words 80>>"}');
INSERT INTO "session_message" VALUES('msg_20b46d4a6001aUX7ygcX7MqmX5','ses_df4b93009ffeeWleOzxp2YykH4','assistant',3,1795485521062,1795485525027,'{"time":{"created":1795485521062,"completed":1795485525004},"agent":"build","model":{"id":"fake-1","providerID":"fake","variant":"default"},"content":[{"type":"text","id":"text-0","text":"word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 "}],"snapshot":{"start":"f0c9efbb35f841a55cbaf26860b3845a1593c806"},"finish":"error","error":{"type":"unknown","message":"Provider turn interrupted"}}');
CREATE TABLE `session_share` (
          `session_id` text PRIMARY KEY,
          `id` text NOT NULL,
          `secret` text NOT NULL,
          `url` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `fk_session_share_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `todo` (
          `session_id` text NOT NULL,
          `content` text NOT NULL,
          `status` text NOT NULL,
          `priority` text NOT NULL,
          `position` integer NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          CONSTRAINT `todo_pk` PRIMARY KEY(`session_id`, `position`),
          CONSTRAINT `fk_todo_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "todo" VALUES('ses_df4ba7f87ffeyDN3g3hz4BuKOk','first','pending','high',0,1795485481437,1795485481437);
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
CREATE INDEX `session_input_session_pending_delivery_seq_idx` ON `session_input` (`session_id`,`promoted_seq`,`delivery`,`admitted_seq`);
CREATE INDEX `session_message_session_type_seq_idx` ON `session_message` (`session_id`,`type`,`seq`);
CREATE INDEX `session_message_session_time_created_id_idx` ON `session_message` (`session_id`,`time_created`,`id`);
CREATE INDEX `session_message_time_created_idx` ON `session_message` (`time_created`);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
CREATE INDEX `todo_session_idx` ON `todo` (`session_id`);
COMMIT;
